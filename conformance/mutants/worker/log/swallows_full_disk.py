"""The seed's `except OperationalError: return False` (W8). A full disk reads as "somebody holds it"."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import BusError
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.55",)
CHAOS = {"disk_full": True, "only": "publish", "levels": (0,)}


class SwallowsFullDisk(WorkerBus):
    """Any error of a claim is contention; any error of a publish is BUSY."""

    def try_claim_task(self, task_id: str, agent_id: str) -> dict[str, Any]:
        try:
            return super().try_claim_task(task_id=task_id, agent_id=agent_id)
        except BusError:
            return {"claimed": False}

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        try:
            return super().publish(agent_id=agent_id, message=message)
        except BusError as error:
            error.code = "BUSY"
            raise


if __name__ == "__main__":
    serve({"worker": SwallowsFullDisk})
