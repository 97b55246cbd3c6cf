"""A name leads to any topic whose name begins so."""

from refbus.topics import route
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.route.10",)

SEED, FAULT = "name = ?", "name LIKE ? || '%'"
assert SEED in route._NEWEST
route._NEWEST = route._NEWEST.replace(SEED, FAULT)


if __name__ == "__main__":
    raise SystemExit(main())
