"""Peers are listed by name, not the latest first."""

from refbus.topics import presence
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.presence.09",)


presence._PRESENT = presence._PRESENT.replace("updated_at DESC, ", "")


class Mutant(TopicsBus):
    pass


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
