"""age_seconds counts milliseconds."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.presence.02",)
CONTROL = "presence.bad_arguments"


class Mutant(TopicsBus):
    def topic_presence(self, topic_id: str, **more: Any) -> dict[str, Any]:
        reply = super().topic_presence(topic_id, **more)
        for peer in reply["peers"]:
            peer["age_seconds"] *= 1000
        return reply


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
