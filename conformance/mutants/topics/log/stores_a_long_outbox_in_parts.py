"""An outbox of more than ten messages is stored in several transactions. A kill leaves its beginning."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.73",)
CHAOS = {"points": True, "only": "sync that sends many"}
AT_ONCE = 10


class SendsInParts(TopicsBus):
    """Readers need not wait for all of it."""

    def begin_sync(self, topic_id: str, outbox: Any = None, *args: Any, **how: Any) -> Any:
        left = outbox or []
        while len(left) > AT_ONCE:
            super().begin_sync(topic_id, left[:AT_ONCE], *args, **how)
            left = left[AT_ONCE:]
        return super().begin_sync(topic_id, left, *args, **how)


if __name__ == "__main__":
    main(SendsInParts)
