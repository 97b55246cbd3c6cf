"""The cursor is the topic's, and all its agents share it."""

from refbus.topics import lease
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.01",)

lease._STANDING = lease._STANDING.replace(
    "coalesce(c.last_seq, 0)", "coalesce((SELECT max(last_seq) FROM cursors WHERE topic_id = :topic), 0)"
)


if __name__ == "__main__":
    raise SystemExit(main(TopicsBus))
