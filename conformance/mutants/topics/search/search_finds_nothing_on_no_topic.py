"""A search on a topic that does not exist finds nothing, instead of being an error."""

from typing import Any

from refbus.kernel.errors import TopicNotFound
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.search.21",)


class Mutant(TopicsBus):
    def messages_search(self, query: str, topic_id: str | None = None, **more: Any) -> Any:
        try:
            return super().messages_search(query, topic_id, **more)
        except TopicNotFound:
            return super().messages_search(query, **more) | {"topic_id": topic_id, "results": [], "count": 0}


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
