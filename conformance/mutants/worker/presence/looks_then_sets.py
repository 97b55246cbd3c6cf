"""A transition compares in one transaction and sets in another."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import StateConflict
from refbus.kernel.rules import limit as limits
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.presence.15",)


class Mutant(WorkerBus):
    def transition(self, worker: str, to_state: str, from_state: str | None = None) -> dict[str, Any]:
        limits.name("worker", worker)
        limits.text("from_state", from_state or "x")
        row = self.db.row("SELECT state FROM worker_states WHERE worker = ?", (worker,))
        if row is not None and row[0] not in (from_state, to_state):
            raise StateConflict(f"{worker} is {row[0]}, not {from_state}")
        if row is not None and row[0] == from_state:
            self.db.write("UPDATE worker_states SET state = ? WHERE worker = ?", (from_state, worker))
        return super().transition(worker, to_state, from_state)


if __name__ == "__main__":
    serve({"worker": Mutant})
