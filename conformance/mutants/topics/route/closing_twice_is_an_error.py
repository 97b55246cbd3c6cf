"""A second close is TOPIC_CLOSED."""

from typing import Any

from refbus.kernel.errors import TopicClosed
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.route.17",)


class Mutant(TopicsBus):
    def topic_close(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        reply = super().topic_close(*args, **kwargs)
        if "warnings" in reply:
            raise TopicClosed("the topic is closed already")
        return reply


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
