"""OR, NOT and stars of a query are obeyed."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.rules import limit as limits
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.search.04",)
DIES_OF = "INTERNAL"


class Mutant(WorkerBus):
    def search(self, query: str, limit: int = 100) -> dict[str, Any]:
        limits.text("query", query)
        limits.integer("limit", limit)
        self.searches.bring_up_to_date()
        sql = "SELECT rowid FROM search_index WHERE search_index MATCH ? LIMIT ?"
        found = {seq for (seq,) in self.db.rows(sql, (query, limit))}
        rows = self.poll(agent_id="a", limit=1000)["messages"]
        return {"messages": [row for row in rows if row["seq"] in found]}


if __name__ == "__main__":
    serve({"worker": Mutant})
