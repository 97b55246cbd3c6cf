"""Only an agent that has joined may ask who is present."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.presence.12",)
CONTROL = "presence.limit"


class Mutant(TopicsBus):
    def topic_presence(self, topic_id: str, **more: Any) -> dict[str, Any]:
        present = super().topic_presence(topic_id, **more)
        self.lease.identity(topic_id)
        return present


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
