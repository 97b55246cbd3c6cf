"""A topic's peers are those of every topic."""

from refbus.topics import presence
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.presence.01",)


presence._PRESENT = presence._PRESENT.replace("topic_id = ?", "(topic_id = ? OR true)")


class Mutant(TopicsBus):
    pass


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
