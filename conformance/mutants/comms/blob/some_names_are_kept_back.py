"""An artifact may not have a name that a temporary file could have."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.errors import InvalidArgument

KILLED_BY = ("comms.blob.03",)
ITEM = "corpus:artifacts_of_any_name"
CONTROL = "log.defaults"


class Mutant(CommsBus):
    def write_artifact(self, agent_id: str, task_id: str, content: Any, name: str = "result.json") -> Any:
        if ".tmp-" in f"{agent_id} {task_id} {name}":
            raise InvalidArgument("names must not hold '.tmp-'")
        return super().write_artifact(agent_id, task_id, content, name)


if __name__ == "__main__":
    serve({"comms": Mutant})
