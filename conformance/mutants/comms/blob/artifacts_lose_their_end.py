"""Only the first hundred rows of an artifact are kept."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.blob.02", "comms.blob.04")
CONTROL = "blob.replaced_whole"


class Mutant(CommsBus):
    def write_artifact(self, agent_id: str, task_id: str, content: Any, name: str = "result.json") -> dict[str, Any]:
        if isinstance(content, dict) and "rows" in content:
            content = {"rows": content["rows"][:100]}
        return super().write_artifact(agent_id, task_id, content, name)


if __name__ == "__main__":
    serve({"comms": Mutant})
