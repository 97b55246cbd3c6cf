"""A search by meaning without a model finds nothing, and does not say why."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.search.14", "topics.search.15")


class Mutant(TopicsBus):
    def messages_search(self, query: str, mode: str = "hybrid", **more: Any) -> dict[str, Any]:
        reply = super().messages_search(query, mode=mode, **more)
        if reply.pop("warnings", None) and mode == "semantic":
            reply |= {"results": [], "count": 0}
        return reply


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
