"""An ack makes no room."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import Backpressure
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.limit.14",)


class Mutant(WorkerBus):
    full = False

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        if self.full and message.get("to") == "b":
            raise Backpressure("still full")
        try:
            return super().publish(agent_id, message)
        except Backpressure:
            self.full = self.full or message.get("to") == "b"
            raise


if __name__ == "__main__":
    serve({"worker": Mutant})
