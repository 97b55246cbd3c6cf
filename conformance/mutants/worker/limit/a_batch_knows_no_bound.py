"""The bound on unread messages holds for publish, and not for publish_many."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.limit.13",)


class Mutant(WorkerBus):
    def publish_many(self, agent_id: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
        bound, self.store.unread_max = self.store.unread_max, None
        try:
            return super().publish_many(agent_id, messages)
        finally:
            self.store.unread_max = bound


if __name__ == "__main__":
    serve({"worker": Mutant})
