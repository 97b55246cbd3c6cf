"""A reply may be to anything."""

from refbus.topics import log
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.52",)

log.refuse_strange_reply = lambda *_: None


if __name__ == "__main__":
    raise SystemExit(main())
