"""A waiting poll sleeps through messages that arrive."""

import time
from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.cursor.19",)


class Mutant(WorkerBus):
    def poll(self, agent_id: str, limit: int = 100, wait_ms: int = 0) -> dict[str, Any]:
        if wait_ms:
            time.sleep(0.3)
            return {"messages": []}
        return super().poll(agent_id, limit)


if __name__ == "__main__":
    serve({"worker": Mutant})
