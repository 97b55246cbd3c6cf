"""An artifact is written under its final name (C9). A kill leaves half of it."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.files import make_path
from refbus.kernel.rules import limit as limits

KILLED_BY = ("comms.blob.12",)
CHAOS = {"points": True, "only": "write_artifact again"}


class ArtifactInPlace(CommsBus):
    """No temporary file, no rename."""

    def write_artifact(self, agent_id: str, task_id: str, content: Any, name: str = "result.json") -> dict[str, Any]:
        folder = self.store.artifacts / agent_id / task_id
        make_path(folder)
        (folder / name).write_text(limits.payload(content))
        return {"artifact_path": f".claude/artifacts/{agent_id}/{task_id}/{name}"}


if __name__ == "__main__":
    serve({"comms": ArtifactInPlace})
