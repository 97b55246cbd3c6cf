"""Snippets hold marks of a private use around the words that match."""

from refbus.topics import search
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.search.17",)


search._MATCHING = search._MATCHING.replace("0, '', ''", "0, char(57344), char(57345)")


class Mutant(TopicsBus):
    pass


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
