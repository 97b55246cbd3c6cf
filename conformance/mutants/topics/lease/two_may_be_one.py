"""A session whose name was taken over goes on under it."""

from refbus.kernel.rules import sync as rules
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.lease.25",)

rules.may_act = lambda _own, _latest: True


if __name__ == "__main__":
    raise SystemExit(main())
