"""A progress of 0 is no progress."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.presence.01",)
ITEM = "corpus"
CONTROL = "log.fields"


class Mutant(WorkerBus):
    def heartbeat(self, agent_id: str, status: str, current_task: Any = None, progress: Any = None) -> Any:
        return super().heartbeat(agent_id, status, current_task, None if progress == 0 else progress)


if __name__ == "__main__":
    serve({"worker": Mutant})
