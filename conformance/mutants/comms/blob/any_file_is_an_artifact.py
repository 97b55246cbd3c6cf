"""Any path that is asked for is read."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.blob.10",)
DIES_OF = "INTERNAL"


class Mutant(CommsBus):
    def read_artifact(self, artifact_path: str) -> dict[str, Any]:
        if not artifact_path.startswith(".claude/artifacts/a/t/") or ".." in artifact_path:
            return {"content": (self.store.root / artifact_path).read_text()}
        return super().read_artifact(artifact_path)


if __name__ == "__main__":
    serve({"comms": Mutant})
