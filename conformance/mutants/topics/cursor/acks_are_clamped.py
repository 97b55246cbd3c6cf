"""An ack of a seq that does not exist is taken for the nearest that does."""

from typing import Any

from refbus.kernel.rules import cursor
from refbus.topics.bus import TopicsBus
from refbus.topics.cursor import SyncCall
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.16", "topics.cursor.17", "topics.cursor.18")


def nearest(current: int, asked: int, newest: int) -> int:
    return max(current, min(asked, newest))


class Mutant(TopicsBus):
    def begin_sync(self, *args: Any, **kwargs: Any) -> SyncCall:
        if "ack_through" in kwargs:
            kwargs["ack_through"] = max(0, kwargs["ack_through"])
        return super().begin_sync(*args, **kwargs)


cursor.advance = nearest


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
