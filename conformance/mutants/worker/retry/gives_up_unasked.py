"""Dead-lettering is on by default."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.retry.11",)


class Mutant(WorkerBus):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"deliveries_max": 5, **options})


if __name__ == "__main__":
    serve({"worker": Mutant})
