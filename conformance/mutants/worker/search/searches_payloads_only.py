"""Types are not searched."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.search.02",)
CONTROL = "search.syntax_is_words"


class Mutant(WorkerBus):
    def search(self, query: str, limit: int = 100) -> dict[str, Any]:
        rows = super().search(query, limit)["messages"]
        return {"messages": [row for row in rows if query.lower() not in row["type"]]}


if __name__ == "__main__":
    serve({"worker": Mutant})
