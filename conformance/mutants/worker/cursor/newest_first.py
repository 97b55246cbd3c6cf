"""A poll gives the newest messages first."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.cursor.04",)
CONTROL = "cursor.each_agent_its_own"


class Mutant(WorkerBus):
    def poll(self, **params: Any) -> dict[str, Any]:
        return {"messages": super().poll(**params)["messages"][::-1]}


if __name__ == "__main__":
    serve({"worker": Mutant})
