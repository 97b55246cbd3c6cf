"""The oldest of several topics of one name is found."""

from refbus.topics import route
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.route.02", "topics.route.11")

SEED, FAULT = "DESC", "ASC"
assert SEED in route._NEWEST
route._NEWEST = route._NEWEST.replace(SEED, FAULT)


if __name__ == "__main__":
    raise SystemExit(main())
