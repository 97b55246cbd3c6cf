"""The cursor passes the first message in one transaction, the others in the next."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.cursor import SyncCall
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.48",)
CONTROL = "log.ids"
CHAOS = {"points": True, "only": "sync that receives"}


class ConsumesInTwoSteps(TopicsBus):
    """A kill between the two consumes one of the messages that nobody saw."""

    def begin_sync(
        self,
        topic_id: str,
        outbox: Any = None,
        max_items: int = 20,
        include_self: bool = False,
        wait_seconds: int = 60,
        auto_advance: bool = True,
        ack_through: int | None = None,
    ) -> SyncCall:
        if auto_advance and max_items > 1:
            super().begin_sync(topic_id, None, 1, include_self, 0)
        return super().begin_sync(topic_id, outbox, max_items, include_self, wait_seconds, auto_advance, ack_through)


if __name__ == "__main__":
    main(ConsumesInTwoSteps)
