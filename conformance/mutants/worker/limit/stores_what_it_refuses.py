"""A refused publish leaves a row."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import BusError
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.limit.09",)


class Mutant(WorkerBus):
    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        try:
            return super().publish(agent_id, message)
        except BusError:
            super().publish("bus", {"type": "refused"})
            raise


if __name__ == "__main__":
    serve({"worker": Mutant})
