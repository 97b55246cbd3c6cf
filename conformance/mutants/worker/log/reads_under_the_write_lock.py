"""A poll takes the write lock, so readers wait for writers."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.51",)
DIES_OF = "no answer"


class Mutant(WorkerBus):
    def poll(self, **params: Any) -> dict[str, Any]:
        with self.store.transaction():
            return super().poll(**params)


if __name__ == "__main__":
    serve({"worker": Mutant})
