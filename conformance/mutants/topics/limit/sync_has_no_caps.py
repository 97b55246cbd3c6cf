"""Outboxes, bodies, types, keys, names and answers may have any size."""

from refbus.topics import cursor, lease, message
from refbus.topics.mcp.server import main

KILLED_BY = (
    "topics.limit.01",
    "topics.limit.02",
    "topics.limit.03",
    "topics.limit.04",
    "topics.limit.05",
    "topics.limit.06",
)
CONTROL = "limit.bad_numbers"


message.OUTBOX_MAX = message.BODY_CHARS_MAX = message.TYPE_CHARS_MAX = message.CLIENT_ID_CHARS_MAX = 2**30
lease.AGENT_NAME_CHARS_MAX = cursor.ITEMS_MAX = 2**30


if __name__ == "__main__":
    raise SystemExit(main())
