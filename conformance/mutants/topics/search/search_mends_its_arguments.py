"""An argument that a search cannot use is replaced by one that it can."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main
from refbus.topics.search import MODES

KILLED_BY = ("topics.search.07", "topics.search.08", "topics.search.09")


class Mutant(TopicsBus):
    def messages_search(self, query: str, limit: int = 20, mode: str = "hybrid", **more: Any) -> dict[str, Any]:
        return super().messages_search(
            query or "nothing", limit=max(limit, 1), mode=mode if mode in MODES else "hybrid", **more
        )


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
