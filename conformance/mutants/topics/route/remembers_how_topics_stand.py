"""A session remembers how a topic stood when it joined."""

from typing import Any

from refbus.topics import cursor
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.route.20",)

remembered: dict[str, str] = {}
standing = cursor.standing


def as_remembered(tx: Any, reader: Any) -> cursor.Standing:
    found = standing(tx, reader)
    return found._replace(lane=found.lane._replace(status=remembered[reader.topic_id]))


cursor.standing = as_remembered


class Mutant(TopicsBus):
    def topic_join(self, *args: Any, **kwargs: Any) -> Any:
        reply = super().topic_join(*args, **kwargs)
        remembered[reply["topic_id"]] = reply["status"]
        return reply

    def topic_close(self, topic_id: str, reason: str | None = None) -> Any:
        remembered[topic_id] = "closed"
        return super().topic_close(topic_id, reason)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
