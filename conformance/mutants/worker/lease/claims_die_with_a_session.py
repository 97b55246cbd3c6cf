"""A session that opens the store forgets all claims."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.lease.23",)


class Mutant(WorkerBus):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.db.write("DELETE FROM task_claims")


if __name__ == "__main__":
    serve({"worker": Mutant})
