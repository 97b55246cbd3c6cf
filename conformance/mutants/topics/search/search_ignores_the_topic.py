"""A search on one topic finds messages of all."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.search.02",)


class Mutant(TopicsBus):
    def messages_search(self, query: str, topic_id: str | None = None, **more: Any) -> dict[str, Any]:
        return super().messages_search(query, None, **more) | {"topic_id": topic_id}


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
