"""OR, NOT and stars of a query are obeyed."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import BusError, InvalidArgument
from refbus.kernel.rules import limit as limits
from refbus.worker import search
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.search.04",)


class Mutant(WorkerBus):
    def search(self, query: str, limit: int = 100) -> dict[str, Any]:
        limits.text("query", query)
        limits.integer("limit", limit)
        if not query.strip():
            return {"messages": []}
        self.searches.bring_up_to_date()
        try:
            with self.store.snapshot() as tx:
                tx.rows("SELECT 1 FROM search_index WHERE search_index MATCH ? LIMIT 1", (query,))
        except BusError as error:
            raise InvalidArgument(f"the query: {error}") from error
        rows = self.store.db.rows(search._MATCHING, {"query": query, "limit": limit})
        return {"messages": self.searches._reader.messages(rows)}


if __name__ == "__main__":
    serve({"worker": Mutant})
