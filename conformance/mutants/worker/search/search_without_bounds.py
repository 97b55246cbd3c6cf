"""A search gives everything, whatever its limit."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.rules import limit as limits
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.search.06",)


class Mutant(WorkerBus):
    def search(self, query: str, limit: int = 100) -> dict[str, Any]:
        limits.integer("limit", limit)
        return super().search(query, 10**6)


if __name__ == "__main__":
    serve({"worker": Mutant})
