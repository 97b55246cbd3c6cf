"""A retry with the same id is stored as one more message."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.09",)


class Mutant(WorkerBus):
    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        if message.get("id") and self.db.row("SELECT 1 FROM messages WHERE id = ?", (message["id"],)):
            super().publish(agent_id, {**message, "id": message["id"] + " again"})
            return super().publish(agent_id, message)
        return super().publish(agent_id, message)


if __name__ == "__main__":
    serve({"worker": Mutant})
