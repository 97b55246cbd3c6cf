"""A message on a topic that is closed now is not found."""

from refbus.topics import search
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.search.19",)

SEED, FAULT = "WHERE", "WHERE t.status = 'open' AND"
assert SEED in search._MATCHING
search._MATCHING = search._MATCHING.replace(SEED, FAULT)


if __name__ == "__main__":
    raise SystemExit(main())
