"""An artifact that is not there holds null."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.errors import NotFound

KILLED_BY = ("comms.blob.11",)


class Mutant(CommsBus):
    def read_artifact(self, artifact_path: str) -> dict[str, Any]:
        try:
            return super().read_artifact(artifact_path)
        except NotFound:
            return {"content": None}


if __name__ == "__main__":
    serve({"comms": Mutant})
