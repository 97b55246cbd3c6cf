"""topic_close answers and changes nothing."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.route.13", "topics.route.14", "topics.route.16", "topics.route.18", "topics.route.20")


class Mutant(TopicsBus):
    def topic_close(self, topic_id: str, reason: str | None = None) -> dict[str, Any]:
        return {
            "topic_id": topic_id,
            "status": "closed",
            "closed_at": self.store.clock.now_us() / 1_000_000,
            "close_reason": reason,
        }


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
