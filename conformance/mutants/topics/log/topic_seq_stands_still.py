"""Numbers are counted in `messages`, and topic_seq is never updated."""

from refbus.topics import log
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.44",)

log._SET_NEXT_SEQ = "SELECT ?, ?, ?"


if __name__ == "__main__":
    raise SystemExit(main())
