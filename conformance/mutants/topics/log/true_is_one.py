"""Metadata are compared as values of Python, where true is 1."""

from refbus.kernel import jsontext
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.80",)


jsontext.canonical = lambda value: value


if __name__ == "__main__":
    raise SystemExit(main())
