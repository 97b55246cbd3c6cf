"""archive answers and moves nothing."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.42",)


class Mutant(WorkerBus):
    def archive(self) -> dict[str, Any]:
        return {"archived": 0}


if __name__ == "__main__":
    serve({"worker": Mutant})
