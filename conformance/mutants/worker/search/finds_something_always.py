"""A search that matches nothing gives the newest message."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.search.03",)
CONTROL = "search.limit"


class Mutant(WorkerBus):
    def search(self, query: str, limit: int = 100) -> dict[str, Any]:
        reply = super().search(query, limit)
        return reply if reply["messages"] else {"messages": self.poll(agent_id="a")["messages"][-1:]}


if __name__ == "__main__":
    serve({"worker": Mutant})
