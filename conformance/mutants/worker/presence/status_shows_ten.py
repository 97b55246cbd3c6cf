"""The status query shows ten rows by default."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.presence.18",)
ITEM = "corpus"


class Mutant(WorkerBus):
    def status(self, limit: int = 10) -> Any:
        return super().status(limit)


if __name__ == "__main__":
    serve({"worker": Mutant})
