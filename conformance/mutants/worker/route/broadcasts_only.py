"""Addressed messages are not delivered."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.route.02",)
CONTROL = "route.broadcast_reaches_all"


class Mutant(WorkerBus):
    def poll(self, **params: Any) -> dict[str, Any]:
        return {"messages": [row for row in super().poll(**params)["messages"] if row["to_agent"] is None]}


if __name__ == "__main__":
    serve({"worker": Mutant})
