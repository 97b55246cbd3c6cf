"""The reason for closing a topic is not kept."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.route.16",)


class Mutant(TopicsBus):
    def topic_close(self, topic_id: str, reason: str | None = None) -> dict[str, Any]:
        return super().topic_close(topic_id) | {"close_reason": reason}


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
