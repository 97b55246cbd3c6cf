"""All agents share one cursor."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.cursor.12",)


class Mutant(WorkerBus):
    def ack(self, agent_id: str, seq: int) -> dict[str, Any]:
        for other in "abc":
            super().ack(other, seq)
        return super().ack(agent_id, seq)


if __name__ == "__main__":
    serve({"worker": Mutant})
