"""An ack may not cover what the same call sends."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.cursor import SyncCall
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.20",)


class Mutant(TopicsBus):
    def begin_sync(self, *args: Any, **kwargs: Any) -> SyncCall:
        if "ack_through" in kwargs:
            super().begin_sync(kwargs["topic_id"], None, 1, False, 0, False, kwargs.pop("ack_through"))
        return super().begin_sync(*args, **kwargs)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
