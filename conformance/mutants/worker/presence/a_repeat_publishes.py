"""A repeated transition publishes its message again."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.presence.16",)


class Mutant(WorkerBus):
    def transition(self, worker: str, to_state: str, from_state: str | None = None) -> dict[str, Any]:
        reply = super().transition(worker, to_state, from_state)
        if not reply["changed"]:
            self.publish(worker, {"type": "state_change", "payload": {"from": from_state, "to": to_state}})
        return reply


if __name__ == "__main__":
    serve({"worker": Mutant})
