"""The agent's name leads anywhere (C9)."""

import json
from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.blob.07",)
DIES_OF = "INTERNAL"


class Mutant(CommsBus):
    def write_artifact(self, agent_id: str, task_id: str, content: Any, name: str = "result.json") -> dict[str, Any]:
        folder = self.store.artifacts / str(agent_id) / str(task_id).replace("\0", "")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(content))
        return {"artifact_path": f".claude/artifacts/{agent_id}/{task_id}/{name}"}


if __name__ == "__main__":
    serve({"comms": Mutant})
