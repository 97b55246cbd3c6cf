"""Any agent redrives any dead letter."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.retry.10",)
ITEM = "corpus"


class Mutant(WorkerBus):
    def redrive(self, agent_id: str, seq: int) -> Any:
        dead = self.db.row("SELECT agent_id FROM dead_letters WHERE seq = ?", (seq,)) if isinstance(seq, int) else None
        return super().redrive(dead[0] if dead else agent_id, seq)


if __name__ == "__main__":
    serve({"worker": Mutant})
