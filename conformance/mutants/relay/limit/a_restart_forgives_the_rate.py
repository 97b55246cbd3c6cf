"""The files that an agent sent in the last minute are counted by the orchestrator that took them, not in the ledger."""

from collections import Counter

from refbus.driver import serve
from refbus.relay import limit
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.limit.03", "relay.limit.05")

room = limit.Rate.room
BEFORE: dict[limit.Rate, Counter[str]] = {}


def room_since_the_start(rate: limit.Rate, agent: str) -> int:
    """Rows of the last minute that this one took itself: those that were there when it first looked do not count."""
    at_most = rate._store.config.rate_per_min
    taken = at_most - room(rate, agent)
    before = BEFORE.setdefault(rate, Counter())
    before.setdefault(agent, taken)
    before[agent] = min(before[agent], taken)
    return at_most - taken + before[agent]


limit.Rate.room = room_since_the_start  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"relay": RelayBus})
