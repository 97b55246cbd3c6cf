"""An outbox is sent before the numbers of its call are looked at."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.cursor import SyncCall
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.limit.08",)


class Mutant(TopicsBus):
    def begin_sync(self, topic_id: str, outbox: Any = None, max_items: int = 20, **more: Any) -> SyncCall:
        if outbox and max_items < 1:
            super().begin_sync(topic_id, outbox, wait_seconds=0, auto_advance=False)
        return super().begin_sync(topic_id, outbox, max_items, **more)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
