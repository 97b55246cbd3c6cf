"""An artifact's path does not name its agent."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.blob.01",)
CONTROL = "blob.replaced_whole"


class Mutant(CommsBus):
    def write_artifact(self, agent_id: str, task_id: str, content: Any, name: str = "result.json") -> dict[str, Any]:
        return super().write_artifact("all", task_id, content, name)


if __name__ == "__main__":
    serve({"comms": Mutant})
