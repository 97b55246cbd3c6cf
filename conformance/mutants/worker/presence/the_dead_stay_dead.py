"""A dead agent's heartbeat is not taken."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.presence.10",)


class Mutant(WorkerBus):
    def heartbeat(self, agent_id: str, status: str, current_task: Any = None, progress: Any = None) -> dict[str, Any]:
        if any(row["agent_id"] == agent_id and row["state"] == "DEAD" for row in self.liveness()["agents"]):
            return {}
        return super().heartbeat(agent_id, status, current_task, progress)


if __name__ == "__main__":
    serve({"worker": Mutant})
