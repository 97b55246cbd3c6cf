"""A window or a limit of nothing is taken for the default."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.presence.06", "topics.presence.07")


class Mutant(TopicsBus):
    def topic_presence(self, topic_id: str, window_seconds: int = 300, limit: int = 200) -> dict[str, Any]:
        return super().topic_presence(
            topic_id, window_seconds if window_seconds > 0 else 300, limit if limit > 0 else 200
        )


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
