"""A name leads to any topic whose name begins so."""

from refbus.topics import topic
from refbus.topics.server import main

KILLED_BY = ("topics.route.10",)

topic._NEWEST = topic._NEWEST.replace("name = ?", "name LIKE ? || '%'")


if __name__ == "__main__":
    raise SystemExit(main())
