"""A lease lasts 30 seconds."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.lease.02", "worker.lease.24")


class Mutant(WorkerBus):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.store.lease_ms = 30_000


if __name__ == "__main__":
    serve({"worker": Mutant})
