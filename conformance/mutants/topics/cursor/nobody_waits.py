"""A sync never waits."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.cursor import SyncCall
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.25", "topics.cursor.26", "topics.cursor.27", "topics.cursor.28", "topics.cursor.29")


class Mutant(TopicsBus):
    def begin_sync(self, *args: Any, **kwargs: Any) -> SyncCall:
        kwargs["wait_seconds"] = 0
        return super().begin_sync(*args, **kwargs)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
