"""A sync touches updated_at only when it moves the cursor."""

from refbus.topics import cursor
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.presence.05",)

cursor._SET_CURSOR += " WHERE excluded.last_seq <> cursors.last_seq"


if __name__ == "__main__":
    raise SystemExit(main())
