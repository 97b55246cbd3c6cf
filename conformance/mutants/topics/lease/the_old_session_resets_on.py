"""A session whose name was reclaimed can still move the cursor."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.lease.28", "topics.lease.32")


class Mutant(TopicsBus):
    def cursor_reset(self, topic_id: str, last_seq: int = 0) -> Any:
        self.lease.check = lambda *_: None  # type: ignore[method-assign]
        try:
            return super().cursor_reset(topic_id, last_seq)
        finally:
            del self.lease.check


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
