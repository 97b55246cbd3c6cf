"""A heartbeat is published, too."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.presence.09",)


class Mutant(WorkerBus):
    def heartbeat(self, agent_id: str, status: str, current_task: Any = None, progress: Any = None) -> dict[str, Any]:
        self.publish(agent_id, {"type": "heartbeat", "payload": {"status": status}})
        return super().heartbeat(agent_id, status, current_task, progress)


if __name__ == "__main__":
    serve({"worker": Mutant})
