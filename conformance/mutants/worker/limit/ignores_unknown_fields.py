"""A field that nobody knows is dropped without a word."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.limit.02",)


class Mutant(WorkerBus):
    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        known = ("id", "to", "type", "correlation_id", "in_reply_to", "payload")
        return super().publish(agent_id, {key: value for key, value in message.items() if key in known})


if __name__ == "__main__":
    serve({"worker": Mutant})
