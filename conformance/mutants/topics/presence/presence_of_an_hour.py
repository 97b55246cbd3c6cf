"""Peers are recent for an hour by default."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.presence.04",)


class Mutant(TopicsBus):
    def topic_presence(self, topic_id: str, window_seconds: int = 3600, **more: Any) -> dict[str, Any]:
        return super().topic_presence(topic_id, window_seconds, **more)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
