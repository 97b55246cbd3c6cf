"""Messages are received in the order of their times, not of their numbers."""

from refbus.topics import log
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.03",)
CONTROL = "cursor.own"

SEED, FAULT = "ORDER BY seq", "ORDER BY created_at"
assert SEED in log._UNREAD
log._UNREAD = log._UNREAD.replace(SEED, FAULT)


if __name__ == "__main__":
    raise SystemExit(main())
