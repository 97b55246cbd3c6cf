"""A search on a topic touches the searcher's cursor there, as a sync does."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main
from refbus.topics.sync import _SET_CURSOR

KILLED_BY = ("topics.search.20",)


class Mutant(TopicsBus):
    def messages_search(self, query: str, topic_id: str | None = None, **more: Any) -> dict[str, Any]:
        reply = super().messages_search(query, topic_id, **more)
        if topic_id in self._joined:
            with self._transaction() as connection:
                standing = self._standing(connection, topic_id)
                connection.execute(_SET_CURSOR, (topic_id, self._my_name(topic_id), standing.last_seq, self._now()))
        return reply


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
