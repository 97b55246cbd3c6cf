"""The cursor advances to the newest message, returned or not."""

from refbus.kernel.rules import sync as rules
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.10", "topics.cursor.11", "topics.cursor.37", "topics.cursor.47")
CONTROL = "cursor.own"

rules.passed = lambda _position, _unread, _max_items, newest: newest


if __name__ == "__main__":
    raise SystemExit(main())
