"""A limit of 0 is taken for the default."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.cursor.05",)
ITEM = "corpus"


class Mutant(WorkerBus):
    def poll(self, agent_id: str, limit: int = 100, wait_ms: int = 0) -> Any:
        return super().poll(agent_id, limit if limit != 0 or limit is False else 100, wait_ms)


if __name__ == "__main__":
    serve({"worker": Mutant})
