"""Only a few message types are carried; others become a note."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.22", "worker.log.23", "worker.log.24")
CONTROL = "log.survives_kill"


class Mutant(WorkerBus):
    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        known = message.get("type") in ("task_assign", "state_change", "agent_started")
        return super().publish(agent_id, message if known else {**message, "type": "note"})


if __name__ == "__main__":
    serve({"worker": Mutant})
