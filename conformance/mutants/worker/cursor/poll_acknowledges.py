"""A poll moves the cursor (at most once)."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.cursor.01", "worker.cursor.02", "worker.cursor.13", "worker.cursor.14")
CONTROL = "cursor.new_agent_reads_from_the_start"


class Mutant(WorkerBus):
    def poll(self, agent_id: str, **params: Any) -> dict[str, Any]:
        reply = super().poll(agent_id, **params)
        if reply["messages"]:
            self.ack(agent_id, reply["messages"][-1]["seq"])
        return reply


if __name__ == "__main__":
    serve({"worker": Mutant})
