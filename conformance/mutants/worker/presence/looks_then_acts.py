"""A transition looks at the present state before it takes the lock."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.rules import limit as limits
from refbus.worker.bus import WorkerBus

# Two at once are both told that they won, which is so in neither order.
KILLED_BY = ("worker.presence.15", "worker.log.66")
ITEM = "corpus"


class Mutant(WorkerBus):
    def transition(self, worker: str, to_state: str, from_state: str | None = None) -> Any:
        limits.name("worker", worker)
        if row := self.db.row("SELECT state FROM worker_states WHERE worker = ?", (worker,)):
            self.states._present_state = lambda tx, name: row[0]
        try:
            return super().transition(worker, to_state, from_state)
        finally:
            self.states.__dict__.pop("_present_state", None)


if __name__ == "__main__":
    serve({"worker": Mutant})
