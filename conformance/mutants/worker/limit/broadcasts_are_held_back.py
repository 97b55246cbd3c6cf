"""A broadcast is refused while one agent is full."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import Backpressure
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.limit.16",)


class Mutant(WorkerBus):
    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        unread = len(self.poll(agent_id="b")["messages"])
        if self.store.unread_max and unread >= self.store.unread_max:
            raise Backpressure("b is full")
        return super().publish(agent_id, message)


if __name__ == "__main__":
    serve({"worker": Mutant})
