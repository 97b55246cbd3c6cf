"""Whether there is room for a message is asked before the lock is taken."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.rules import limit
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.limit.13",)


class Mutant(WorkerBus):
    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        bound, to = self.store.unread_max, message.get("to") if type(message) is dict else None
        if bound is not None and to is not None:
            with self.store.snapshot() as tx:
                limit.room(to, self.routes.count_unread(tx, to, bound), 1, bound)
        self.store.unread_max = None
        try:
            return super().publish(agent_id, message)
        finally:
            self.store.unread_max = bound


if __name__ == "__main__":
    serve({"worker": Mutant})
