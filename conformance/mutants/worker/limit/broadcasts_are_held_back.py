"""A broadcast is refused while one agent is full."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import Backpressure
from refbus.worker import log
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.limit.16",)

check_room = log.Log._refuse_beyond_bound


def for_all(self: log.Log, tx: Any, draft: Any) -> None:
    check_room(self, tx, draft)
    unread_max = self._store.unread_max
    if unread_max is not None and draft.to is None:
        for (agent,) in tx.rows("SELECT agent_id FROM cursors"):
            if self._routes.count_unread(tx, agent, unread_max) >= unread_max:
                raise Backpressure(f"{agent} is full")


log.Log._refuse_beyond_bound = for_all  # type: ignore[method-assign]

if __name__ == "__main__":
    serve({"worker": WorkerBus})
