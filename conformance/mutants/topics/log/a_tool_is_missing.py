"""There is no cursor_reset."""

from refbus.topics.mcp.server import main
from refbus.topics.mcp.tools import TOOLS

KILLED_BY = ("topics.log.01", "topics.log.02")

del TOOLS["cursor_reset"]


if __name__ == "__main__":
    raise SystemExit(main())
