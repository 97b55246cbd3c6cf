"""Nobody checks whether a token is the name's own."""

from refbus.kernel.rules import sync as rules
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.lease.14",)

join = rules.join
rules.join = lambda latest, own, token: join(latest, own, latest.reclaim_token if latest and token else token)


if __name__ == "__main__":
    raise SystemExit(main())
