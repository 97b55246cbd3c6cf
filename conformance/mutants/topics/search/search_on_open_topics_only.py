"""What was said on a topic that is closed now is not found."""

from refbus.topics import search
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.search.19",)


search._MATCHING = search._MATCHING.replace("WHERE", "WHERE t.status = 'open' AND")


class Mutant(TopicsBus):
    pass


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
