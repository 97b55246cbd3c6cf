"""The query is given to FTS5 as it is, and what FTS5 cannot read finds nothing."""

from refbus.kernel.db import fetch
from refbus.kernel.errors import BusError
from refbus.topics import search
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main
from refbus.topics.search import Hit, Warnings

KILLED_BY = ("topics.search.16",)


class Mutant(TopicsBus):
    def _by_words(self, words: list[str], topic_id: str | None, limit: int, warnings: Warnings) -> list[Hit]:
        self._has_fts()
        self._index("fts", self._index_words)
        values = {"query": " ".join(words), "topic": topic_id, "limit": limit}
        try:
            with self._snapshot() as connection:
                rows = fetch(connection, search._MATCHING, values)
        except BusError:
            return []
        return [search._hit(row[:-2]) | {"snippet": row[-2], "fts_rank": row[-1]} for row in rows]


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
