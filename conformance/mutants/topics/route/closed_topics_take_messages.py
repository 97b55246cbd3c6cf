"""A closed topic accepts messages."""

from refbus.kernel.rules import sync as rules
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.route.14",)

send = rules.send
rules.send = lambda is_same, _is_open: send(is_same, True)


if __name__ == "__main__":
    raise SystemExit(main())
