"""A sync with an outbox receives nothing."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.cursor import SyncCall
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.12",)
CONTROL = "log.ping"


class Mutant(TopicsBus):
    def begin_sync(self, topic_id: str, outbox: Any = None, *args: Any, **kwargs: Any) -> SyncCall:
        if outbox:
            kwargs |= {"auto_advance": False, "wait_seconds": 0}
        call = super().begin_sync(topic_id, outbox, *args, **kwargs)
        if outbox:
            call.reply |= {"received": [], "received_count": 0, "status": "empty"}
        return call


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
