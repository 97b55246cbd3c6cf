"""A redriven message is not delivered."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.retry.10",)


class Mutant(WorkerBus):
    def redrive(self, agent_id: str, seq: int) -> dict[str, Any]:
        reply = super().redrive(agent_id, seq)
        self.db.write("DELETE FROM redriven")
        return reply


if __name__ == "__main__":
    serve({"worker": Mutant})
