"""An outbox is stored one message a transaction. A kill leaves a part of it."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.73",)
CHAOS = {"points": True, "only": "sync that sends"}


class SendsOneByOne(TopicsBus):
    """All but the last go ahead."""

    def begin_sync(self, topic_id: str, outbox: Any = None, *args: Any, **how: Any) -> Any:
        for item in (outbox or [])[:-1]:
            super().begin_sync(topic_id, [item], *args, **how)
        return super().begin_sync(topic_id, outbox, *args, **how)


if __name__ == "__main__":
    main(SendsOneByOne)
