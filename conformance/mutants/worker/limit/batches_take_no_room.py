"""publish_many knows no bound on unread messages."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.limit.13",)
ITEM = "corpus"


class Mutant(WorkerBus):
    def publish_many(self, agent_id: str, messages: list[dict[str, Any]]) -> Any:
        bound, self.store.unread_max = self.store.unread_max, None
        try:
            return super().publish_many(agent_id, messages)
        finally:
            self.store.unread_max = bound


if __name__ == "__main__":
    serve({"worker": Mutant})
