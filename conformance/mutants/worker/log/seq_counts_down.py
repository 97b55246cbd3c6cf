"""The seq that a publisher is told falls with every message."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.05", "worker.log.06")


class Mutant(WorkerBus):
    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        reply = super().publish(agent_id, message)
        return reply | {"seq": 10**6 - reply["seq"]}


if __name__ == "__main__":
    serve({"worker": Mutant})
