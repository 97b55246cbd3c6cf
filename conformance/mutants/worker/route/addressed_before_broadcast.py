"""Addressed messages come before broadcasts, whatever their seq."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.route.05",)


class Mutant(WorkerBus):
    def poll(self, **params: Any) -> dict[str, Any]:
        rows = super().poll(**params)["messages"]
        return {"messages": sorted(rows, key=lambda row: (row["to_agent"] is None, row["seq"]))}


if __name__ == "__main__":
    serve({"worker": Mutant})
