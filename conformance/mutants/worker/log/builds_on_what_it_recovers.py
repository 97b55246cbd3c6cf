"""synchronous = FULL: a killed process's unsynced write is read, and a claim is granted by it."""

from refbus.driver import serve
from refbus.kernel.db import Database
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.65",)
CHAOS = {
    "power": 10,
    "deaths": 12,
    "only": "try_claim_task",
    "options": {"synchronous": "FULL"},
    "durability": "power-loss",
}

Database._sync_log = lambda self: None  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"worker": WorkerBus})
