"""current_task and progress are not kept."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.presence.03",)
CONTROL = "presence.statuses"


class Mutant(WorkerBus):
    def heartbeat(self, agent_id: str, status: str, current_task: Any = None, progress: Any = None) -> dict[str, Any]:
        return super().heartbeat(agent_id, status)


if __name__ == "__main__":
    serve({"worker": Mutant})
