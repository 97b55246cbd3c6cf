"""The process ends in the middle of its fourth publish, as after a crash of its own."""

import os
from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.54",)
CHAOS = {"kills": 8}


class EndsByItself(WorkerBus):
    """Counts, and gives up."""

    _publishes = 0

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        self._publishes += 1
        if self._publishes == 4:
            os._exit(1)
        return super().publish(agent_id=agent_id, message=message)


if __name__ == "__main__":
    serve({"worker": EndsByItself})
