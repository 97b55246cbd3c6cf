"""The cursor is taken for the number to read next."""

from refbus.topics import log
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.13", "topics.cursor.15")
CONTROL = "cursor.own"

SEED, FAULT = "seq > :after", "seq >= :after"
assert SEED in log._UNREAD
log._UNREAD = log._UNREAD.replace(SEED, FAULT)


if __name__ == "__main__":
    raise SystemExit(main())
