"""The journal is not a write-ahead log."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.39",)
CONTROL = "log.survives_kill"


class Mutant(WorkerBus):
    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        reply = super().publish(agent_id, message)
        self.db.rows("PRAGMA journal_mode = DELETE")
        return reply


if __name__ == "__main__":
    serve({"worker": Mutant})
