"""A search without a topic stays on the topics that the session has joined, and one that has joined none is refused."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.search.03",)
CONTROL = "search.within"


class Mutant(TopicsBus):
    def messages_search(self, query: str, topic_id: str | None = None, **more: Any) -> dict[str, Any]:
        if topic_id is not None or not self.lease.joined:
            self.lease.identity(topic_id or "any")
        reply = super().messages_search(query, topic_id, **more)
        mine = [result for result in reply["results"] if result["topic_id"] in self.lease.joined]
        return reply | {"results": mine, "count": len(mine)}


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
