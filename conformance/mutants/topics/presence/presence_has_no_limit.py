"""All peers are listed, whatever the limit."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.presence.08",)


class Mutant(TopicsBus):
    def topic_presence(self, topic_id: str, window_seconds: int = 300, limit: int = 200) -> dict[str, Any]:
        return super().topic_presence(topic_id, window_seconds, max(limit, 200)) | {"limit": limit}


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
