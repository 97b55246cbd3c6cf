"""A name goes to the last agent that joins with it."""

from refbus.kernel.rules import sync as rules
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.lease.07", "topics.lease.09", "topics.lease.11", "topics.lease.14")

join = rules.join
rules.join = lambda latest, own, token: join(latest, own, latest.reclaim_token if latest else token)


if __name__ == "__main__":
    raise SystemExit(main())
