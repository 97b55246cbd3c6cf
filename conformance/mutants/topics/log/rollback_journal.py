"""The journal is not a write-ahead log."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.17",)


class Mutant(TopicsBus):
    def topic_create(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        reply = super().topic_create(*args, **kwargs)
        self.store.db.connection().execute("PRAGMA journal_mode = DELETE")
        return reply


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
