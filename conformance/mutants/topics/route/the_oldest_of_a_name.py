"""Of several topics of one name the oldest is found."""

from refbus.topics import topic
from refbus.topics.server import main

KILLED_BY = ("topics.route.02", "topics.route.11")

topic._NEWEST = topic._NEWEST.replace("DESC", "ASC")


if __name__ == "__main__":
    raise SystemExit(main())
