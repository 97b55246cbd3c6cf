"""A retry of a stored message is answered with an id that no message has."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.10",)


class Mutant(WorkerBus):
    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        known = message.get("id") and self.db.row("SELECT 1 FROM messages WHERE id = ?", (message["id"],))
        reply = super().publish(agent_id, message)
        return reply | {"id": "duplicate"} if known else reply


if __name__ == "__main__":
    serve({"worker": Mutant})
