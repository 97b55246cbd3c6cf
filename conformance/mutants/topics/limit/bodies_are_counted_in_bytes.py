"""65,536 is the number of a body's bytes, not of its characters."""

from typing import Any

from refbus.kernel.errors import InvalidArgument
from refbus.topics.bus import TopicsBus
from refbus.topics.cursor import SyncCall
from refbus.topics.mcp.server import main
from refbus.topics.message import BODY_CHARS_MAX, drafts

KILLED_BY = ("topics.limit.02",)


class Mutant(TopicsBus):
    def begin_sync(self, topic_id: str, outbox: Any = None, *args: Any, **more: Any) -> SyncCall:
        if any(len(item.body.encode()) > BODY_CHARS_MAX for item in drafts(outbox)):
            raise InvalidArgument(f"a body must have at most {BODY_CHARS_MAX} bytes")
        return super().begin_sync(topic_id, outbox, *args, **more)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
