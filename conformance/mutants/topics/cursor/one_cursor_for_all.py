"""The cursor is the topic's, and all its agents share it."""

from refbus.topics import join
from refbus.topics.bus import TopicsBus
from refbus.topics.server import main

KILLED_BY = ("topics.cursor.01",)

join._STANDING = join._STANDING.replace(
    "coalesce(c.last_seq, 0)", "coalesce((SELECT max(last_seq) FROM cursors WHERE topic_id = :topic), 0)"
)


if __name__ == "__main__":
    raise SystemExit(main(TopicsBus))
