"""The loop acknowledges more than it handled."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.retry.01",)
CONTROL = "retry.adaptive"


class Mutant(WorkerBus):
    def process_loop(self, agent_id: str, **params: Any) -> dict[str, Any]:
        reply = super().process_loop(agent_id, **params)
        self.ack(agent_id, self.db.row("SELECT coalesce(max(seq), 0) FROM messages")[0])
        return reply


if __name__ == "__main__":
    serve({"worker": Mutant})
