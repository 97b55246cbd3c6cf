"""Messages are received in the order of their times, not of their numbers."""

from refbus.topics import sync
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.03",)

sync._UNREAD = sync._UNREAD.replace("ORDER BY seq", "ORDER BY created_at")


if __name__ == "__main__":
    raise SystemExit(main(TopicsBus))
