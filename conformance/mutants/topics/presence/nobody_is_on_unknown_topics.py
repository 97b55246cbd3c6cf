"""A topic that does not exist has no peers, instead of being an error."""

from typing import Any

from refbus.kernel.errors import TopicNotFound
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.presence.10",)


class Mutant(TopicsBus):
    def topic_presence(self, topic_id: str, **more: Any) -> dict[str, Any]:
        try:
            return super().topic_presence(topic_id, **more)
        except TopicNotFound:
            return {
                "topic_id": topic_id,
                "window_seconds": 300,
                "limit": 200,
                "now": self.store.clock.now_us() / 1_000_000,
                "peers": [],
                "count": 0,
            }


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
