"""The query is given to FTS5 as it is, and one that FTS5 cannot read finds nothing."""

from typing import Any

from refbus.kernel.errors import BusError
from refbus.topics import bus, search
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.search.16",)


class Fault(search.Search):
    def by_words(self, words: list[str], topic_id: str | None, limit: int, warnings: Any) -> list[search.Hit]:
        self.has_fts()
        self.index("fts", self.index_words)
        values = {"query": " ".join(words), "topic": topic_id, "limit": limit}
        try:
            with self._store.snapshot() as tx:
                rows = tx.rows(search._MATCHING, values)
        except BusError:
            return []
        return [search.hit(row[:-2]) | {"snippet": row[-2], "fts_rank": row[-1]} for row in rows]


bus.Search = Fault


if __name__ == "__main__":
    raise SystemExit(main())
