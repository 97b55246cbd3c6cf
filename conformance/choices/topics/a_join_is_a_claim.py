"""An agent that joins again under the name that it holds has claimed it anew: last_claimed_at moves."""

from refbus.topics import lease
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

join = lease.rules.join


def claimed(*args: object) -> lease.Join:
    decision = join(*args)
    return lease.Join.REFUSE if decision is lease.Join.REFUSE else lease.Join.RECLAIM


if __name__ == "__main__":
    lease.rules.join = claimed
    raise SystemExit(main(TopicsBus))
