"""A reader receives the messages of all topics."""

from refbus.topics import log
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.route.07",)

SEED, FAULT = "topic_id = :topic", ":topic <> ''"
assert SEED in log._UNREAD
log._UNREAD = log._UNREAD.replace(SEED, FAULT)


if __name__ == "__main__":
    raise SystemExit(main())
