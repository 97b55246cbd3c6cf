"""Each message of an outbox is stored for itself: a reader sees the first ones while the last are still to come."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.90",)


class Mutant(TopicsBus):
    def begin_sync(self, topic_id: str, outbox: Any = None, *args: Any, **how: Any) -> Any:
        for item in (outbox or [])[:-1]:
            super().begin_sync(topic_id, [item], *args, **how)
        return super().begin_sync(topic_id, (outbox or [])[-1:], *args, **how)


if __name__ == "__main__":
    main(Mutant)
