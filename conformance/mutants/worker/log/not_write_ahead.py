"""The journal is not a write-ahead log."""

from typing import Any

from refbus.driver import serve
from refbus.kernel import store
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.39",)
CONTROL = "log.survives_kill"


class WithoutLog(store.Database):
    """From the first connection on: a log that goes away later was removed."""

    def __init__(self, *args: Any, pragmas: Any = (), **kwargs: Any) -> None:
        super().__init__(*args, pragmas=(*pragmas, "PRAGMA journal_mode = DELETE"), **kwargs)


store.Database = WithoutLog  # type: ignore[misc]

if __name__ == "__main__":
    serve({"worker": WorkerBus})
