"""The bus checks for room for a message before it takes the lock."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.rules import limit
from refbus.worker.bus import WorkerBus
from refbus.worker.message import Draft, new_ids

KILLED_BY = ("worker.limit.13",)


class Mutant(WorkerBus):
    def publish(self, agent_id: str, message: dict[str, Any]) -> Any:
        limit.name("agent_id", agent_id)
        draft = Draft(message, *new_ids(1))
        bound = self.store.unread_max
        if bound is not None and draft.to is not None:
            with self.store.snapshot() as tx:
                limit.room(draft.to, self.routes.count_unread(tx, draft.to, bound), 1, bound)
        self.store.unread_max = None
        try:
            return super().publish(agent_id, message)
        finally:
            self.store.unread_max = bound


if __name__ == "__main__":
    serve({"worker": Mutant})
