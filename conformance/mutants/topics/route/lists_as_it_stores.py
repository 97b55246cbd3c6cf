"""topic_list shows all topics, in the order in which they were made."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.route.08", "topics.route.09")


class Mutant(TopicsBus):
    def topic_list(self, status: str = "all") -> dict[str, Any]:
        return {"topics": super().topic_list(status)["topics"][::-1]}


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
