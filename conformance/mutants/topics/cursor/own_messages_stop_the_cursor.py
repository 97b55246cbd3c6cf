"""The cursor stays before the reader's own messages until others follow."""

from collections.abc import Sequence

from refbus.kernel.rules import sync as rules
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.09",)


def passed(position: int, unread: Sequence[int], max_items: int, _newest: int) -> int:
    return unread[:max_items][-1] if unread else position


rules.passed = passed


if __name__ == "__main__":
    raise SystemExit(main())
