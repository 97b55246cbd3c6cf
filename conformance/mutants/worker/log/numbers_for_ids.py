"""A message without an id is given a number, not a UUID."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.08",)


class Mutant(WorkerBus):
    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        number = self.db.row("SELECT coalesce(max(seq), 0) FROM messages")[0] + 1
        return super().publish(agent_id, {"id": f"message-{number}"} | message)


if __name__ == "__main__":
    serve({"worker": Mutant})
