"""A search on a topic touches the searcher's cursor there, as a sync does."""

from typing import Any

from refbus.topics import cursor
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.search.20",)


class Mutant(TopicsBus):
    def messages_search(self, query: str, topic_id: str | None = None, **more: Any) -> Any:
        reply = super().messages_search(query, topic_id, **more)
        if topic_id in self.lease.joined:
            with self.store.transaction() as tx:
                me = self.lease.identity(topic_id)
                cursor.move(tx, me, cursor.standing(tx, me).position)
        return reply


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
