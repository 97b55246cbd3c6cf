"""A bound on unread messages is set by default."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.limit.15",)


class Mutant(WorkerBus):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"unread_max": 100, **options})


if __name__ == "__main__":
    serve({"worker": Mutant})
