"""A session remembers how a topic stood when it joined."""

import sqlite3
from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.lease import Standing
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.route.20",)

_REMEMBERED: dict[str, str] = {}


class Mutant(TopicsBus):
    def topic_join(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        reply = super().topic_join(*args, **kwargs)
        _REMEMBERED[reply["topic_id"]] = reply["status"]
        return reply

    def topic_close(self, topic_id: str, reason: str | None = None) -> dict[str, Any]:
        _REMEMBERED[topic_id] = "closed"
        return super().topic_close(topic_id, reason)

    def _standing(self, connection: sqlite3.Connection, topic_id: str) -> Standing:
        return super()._standing(connection, topic_id)._replace(status=_REMEMBERED[topic_id])


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
