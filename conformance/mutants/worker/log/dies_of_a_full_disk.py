"""An error of the disk ends the process, with no answer."""

import os
from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import BusError
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.55",)
CHAOS = {"disk_full": True, "only": "publish", "levels": (0,)}


class DiesOfAFullDisk(WorkerBus):
    """Gives up."""

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        try:
            return super().publish(agent_id=agent_id, message=message)
        except BusError:
            os._exit(3)


if __name__ == "__main__":
    serve({"worker": DiesOfAFullDisk})
