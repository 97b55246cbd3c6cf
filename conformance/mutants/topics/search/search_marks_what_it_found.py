"""Snippets hold marks of a private use around the words that match."""

from refbus.topics import search
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.search.17",)

SEED, FAULT = "0, '', ''", "0, char(57344), char(57345)"
assert SEED in search._MATCHING
search._MATCHING = search._MATCHING.replace(SEED, FAULT)


if __name__ == "__main__":
    raise SystemExit(main())
