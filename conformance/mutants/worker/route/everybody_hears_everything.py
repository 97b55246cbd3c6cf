"""A message for one agent is delivered to all."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.route.03",)
CONTROL = "route.broadcast_reaches_all"


class Mutant(WorkerBus):
    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        return super().publish(agent_id, {key: value for key, value in message.items() if key != "to"})


if __name__ == "__main__":
    serve({"worker": Mutant})
