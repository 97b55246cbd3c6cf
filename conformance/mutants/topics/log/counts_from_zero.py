"""The first message of a topic has the number 0."""

from typing import Any

from refbus.topics import lease
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp import tools
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.40",)

lease._STANDING = lease._STANDING.replace(
    "max(seq) FROM messages WHERE topic_id = :topic), 0)", "max(seq) FROM messages WHERE topic_id = :topic), -1)"
)
del tools._MESSAGE["properties"]["seq"]["minimum"]


class Mutant(TopicsBus):
    def topic_create(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        reply = super().topic_create(*args, **kwargs)
        with self._transaction() as connection:
            connection.execute("UPDATE topic_seq SET next_seq = 0 WHERE next_seq = 1")
        return reply


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
