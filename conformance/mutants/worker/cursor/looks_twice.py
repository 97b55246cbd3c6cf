"""A poll looks for messages to its agent, then for broadcasts: it shows only the latter of a batch between the two."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus
from refbus.worker.route import Routes

KILLED_BY = ("worker.log.66",)
CHAOS = {"holds": True, "only": "poll", "against": "a batch for it and for all"}

TO_AGENT = 4
unread = Routes.unread


def looked_twice(self: Routes, agent_id: str, limit: int) -> list[Any]:
    its = [row for row in unread(self, agent_id, limit) if row[TO_AGENT] is not None]
    of_all = [row for row in unread(self, agent_id, limit) if row[TO_AGENT] is None]
    return sorted(its + of_all)[:limit]


Routes.unread = looked_twice  # type: ignore[method-assign]

if __name__ == "__main__":
    serve({"worker": WorkerBus})
