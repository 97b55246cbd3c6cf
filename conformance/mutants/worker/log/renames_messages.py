"""An id that the sender chose is replaced by a new one."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.07", "worker.log.09")


class Mutant(WorkerBus):
    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        return super().publish(agent_id, {key: value for key, value in message.items() if key != "id"})


if __name__ == "__main__":
    serve({"worker": Mutant})
