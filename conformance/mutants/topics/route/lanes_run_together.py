"""A reader receives the messages of all topics."""

from refbus.topics import sync
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.route.07",)

sync._UNREAD = sync._UNREAD.replace("topic_id = :topic AND", "")


if __name__ == "__main__":
    raise SystemExit(main())
