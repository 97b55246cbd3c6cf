"""Numbers out of range are taken for the nearest that are not."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.cursor import SyncCall
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.limit.07",)


class Mutant(TopicsBus):
    def begin_sync(
        self, topic_id: str, outbox: Any = None, max_items: int = 20, wait_seconds: int = 60, **more: Any
    ) -> SyncCall:
        return super().begin_sync(topic_id, outbox, max(max_items, 1), wait_seconds=max(wait_seconds, 0), **more)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
