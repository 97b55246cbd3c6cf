"""cursors.last_seq is the number to read next."""

from refbus.topics import lease, sync
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.39",)

sync._SET_CURSOR = sync._SET_CURSOR.replace("VALUES (?, ?, ?, ?)", "VALUES (?, ?, ? + 1, ?)")
sync._NEWS = sync._NEWS.replace("last_seq", "last_seq - 1")
lease._STANDING = lease._STANDING.replace("c.last_seq", "c.last_seq - 1")


if __name__ == "__main__":
    raise SystemExit(main(TopicsBus))
