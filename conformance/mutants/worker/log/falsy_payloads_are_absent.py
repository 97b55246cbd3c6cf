"""A payload of {}, [], 0, the empty text or false is taken for none (W2)."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.19", "worker.log.20")


class Mutant(WorkerBus):
    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        if not message.get("payload"):
            message = {key: value for key, value in message.items() if key != "payload"}
        return super().publish(agent_id, message)


if __name__ == "__main__":
    serve({"worker": Mutant})
