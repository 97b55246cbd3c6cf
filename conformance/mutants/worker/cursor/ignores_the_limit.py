"""A poll gives everything, whatever its limit."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.cursor.05",)


class Mutant(WorkerBus):
    def poll(self, agent_id: str, limit: int = 100, wait_ms: int = 0) -> dict[str, Any]:
        return super().poll(agent_id, 10**6, wait_ms)


if __name__ == "__main__":
    serve({"worker": Mutant})
