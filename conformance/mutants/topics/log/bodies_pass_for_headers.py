"""The text shows bodies as they are, header-like lines and all."""

from refbus.topics.mcp import text
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.82",)

text.quoted = lambda body: body


if __name__ == "__main__":
    raise SystemExit(main())
