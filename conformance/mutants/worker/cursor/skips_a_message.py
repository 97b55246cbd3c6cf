"""Every fifth message is not delivered."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.cursor.16", "worker.cursor.18")
CONTROL = "lease.first_wins"


class Mutant(WorkerBus):
    def poll(self, **params: Any) -> dict[str, Any]:
        return {"messages": [row for row in super().poll(**params)["messages"] if row["seq"] % 5]}


if __name__ == "__main__":
    serve({"worker": Mutant})
