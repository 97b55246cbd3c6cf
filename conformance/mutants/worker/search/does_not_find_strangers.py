"""Only messages published through the bus are searched."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.search.05",)


class Mutant(WorkerBus):
    def search(self, query: str, limit: int = 100) -> dict[str, Any]:
        rows = super().search(query, limit)["messages"]
        return {"messages": [row for row in rows if row["from_agent"] != "stranger"]}


if __name__ == "__main__":
    serve({"worker": Mutant})
