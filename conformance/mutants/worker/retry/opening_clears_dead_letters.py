"""Dead letters live as long as nobody opens the store."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.retry.08",)
ITEM = "corpus"


class Mutant(WorkerBus):
    def __init__(self, *store: Any, **options: Any) -> None:
        super().__init__(*store, **options)
        self.db.write("DELETE FROM dead_letters")


if __name__ == "__main__":
    serve({"worker": Mutant})
