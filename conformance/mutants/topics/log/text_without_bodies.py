"""The text of a sync tells the sender, not the body."""

from refbus.topics.mcp import text
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.68",)

text._body = lambda body: f"({len(body)} characters)"


if __name__ == "__main__":
    raise SystemExit(main())
