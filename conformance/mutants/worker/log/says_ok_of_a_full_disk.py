"""A publish that found no space is answered as done."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import BusError
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.55",)
CHAOS = {"disk_full": True, "only": "publish", "levels": (0,)}


class SaysOk(WorkerBus):
    """The error is swallowed."""

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        try:
            return super().publish(agent_id=agent_id, message=message)
        except BusError:
            return {"id": message.get("id", "none"), "seq": 1}


if __name__ == "__main__":
    serve({"worker": SaysOk})
