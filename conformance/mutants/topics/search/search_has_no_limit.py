"""All matches are results, whatever the limit."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.search.10", "topics.search.11")


class Mutant(TopicsBus):
    def messages_search(self, query: str, limit: int = 20, **more: Any) -> dict[str, Any]:
        return super().messages_search(query, limit=max(limit, 1000), **more)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
