"""There is no topic_presence."""

from refbus.topics.mcp.server import main
from refbus.topics.mcp.tools import TOOLS

KILLED_BY = ("topics.log.01", "topics.log.02")

del TOOLS["topic_presence"]


if __name__ == "__main__":
    raise SystemExit(main())
