"""A transition does not look at the present state."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.rules import limit as limits
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.presence.15",)


class Mutant(WorkerBus):
    def transition(self, worker: str, to_state: str, from_state: str | None = None) -> dict[str, Any]:
        limits.name("worker", worker)
        limits.text("from_state", from_state or "x")
        self.db.write("UPDATE worker_states SET state = ? WHERE worker = ?", (from_state, worker))
        return super().transition(worker, to_state, from_state)


if __name__ == "__main__":
    serve({"worker": Mutant})
