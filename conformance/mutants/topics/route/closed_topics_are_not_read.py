"""A closed topic is closed for its readers too."""

from typing import Any

from refbus.kernel.errors import TopicClosed
from refbus.topics import log
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.route.15",)

lane = log.lane


def open_only(tx: Any, topic_id: str) -> log.Lane:
    found = lane(tx, topic_id)
    if found.status == "closed":
        raise TopicClosed("the topic is closed")
    return found


log.lane = open_only


if __name__ == "__main__":
    raise SystemExit(main())
