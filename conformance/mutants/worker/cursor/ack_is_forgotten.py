"""An ack is answered and moves nothing."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.cursor.03", "worker.cursor.07")
CONTROL = "cursor.order_and_limit"


class Mutant(WorkerBus):
    def ack(self, agent_id: str, seq: int) -> dict[str, Any]:
        return {}


if __name__ == "__main__":
    serve({"worker": Mutant})
