"""A cell that another program wrote is taken for what the bus would have written."""

from refbus.topics import message
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.86",)
DIES_OF = "no answer"

message._readable = lambda cell: cell


if __name__ == "__main__":
    raise SystemExit(main())
