"""A cell that another program wrote is taken for one that the bus would have written."""

from refbus.topics import message
from refbus.topics.mcp import protocol
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.86",)
DIES_OF = "no answer"

message.readable = lambda cell: cell
protocol._text = None  # type: ignore[assignment]


if __name__ == "__main__":
    raise SystemExit(main())
