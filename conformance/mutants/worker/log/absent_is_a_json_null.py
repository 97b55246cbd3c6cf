"""A message without payload stores the text null."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.20",)


class Mutant(WorkerBus):
    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        return super().publish(agent_id, {"payload": None} | message)


if __name__ == "__main__":
    serve({"worker": Mutant})
