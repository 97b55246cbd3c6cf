"""A search without a topic is one on the topic that was joined last."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.search.01",)
CONTROL = "search.within"


class Mutant(TopicsBus):
    def messages_search(self, query: str, topic_id: str | None = None, **more: Any) -> dict[str, Any]:
        return super().messages_search(query, topic_id or next(reversed(self.lease.joined), None), **more)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
