"""A closed topic is closed for its readers too."""

from typing import Any

from refbus.kernel.errors import TopicClosed
from refbus.topics import cursor
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.route.15",)

standing = cursor.standing


def open_only(tx: Any, reader: Any) -> cursor.Standing:
    found = standing(tx, reader)
    if found.lane.status == "closed":
        raise TopicClosed("the topic is closed")
    return found


cursor.standing = open_only


if __name__ == "__main__":
    raise SystemExit(main())
