"""Any agent redrives any dead letter."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.rules import limit as limits
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.retry.10",)
ITEM = "corpus"


class Mutant(WorkerBus):
    def redrive(self, agent_id: str, seq: int) -> Any:
        query = "SELECT agent_id FROM dead_letters WHERE seq = ? ORDER BY agent_id <> ?, agent_id"  # its own first
        dead = self.db.row(query, (limits.integer("seq", seq), limits.name("agent_id", agent_id)))
        return super().redrive(dead[0] if dead else agent_id, seq)


if __name__ == "__main__":
    serve({"worker": Mutant})
