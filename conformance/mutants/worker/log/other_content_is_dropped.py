"""The same id with other content is reported as published and dropped (W3)."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import IdConflict
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.11",)


class Mutant(WorkerBus):
    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        try:
            return super().publish(agent_id, message)
        except IdConflict:
            return {"id": message["id"]}


if __name__ == "__main__":
    serve({"worker": Mutant})
