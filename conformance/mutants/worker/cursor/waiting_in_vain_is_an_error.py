"""A wait that saw no message ends in an error."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import Busy
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.cursor.20",)


class Mutant(WorkerBus):
    def poll(self, agent_id: str, limit: int = 100, wait_ms: int = 0) -> dict[str, Any]:
        reply = super().poll(agent_id, limit, wait_ms)
        if wait_ms and not reply["messages"]:
            raise Busy("nothing came")
        return reply


if __name__ == "__main__":
    serve({"worker": Mutant})
