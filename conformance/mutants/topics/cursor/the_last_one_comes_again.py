"""The cursor is taken for the number to read next."""

from refbus.topics import sync
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.13", "topics.cursor.15")

sync._UNREAD = sync._UNREAD.replace("seq > :after", "seq >= :after")


if __name__ == "__main__":
    raise SystemExit(main(TopicsBus))
