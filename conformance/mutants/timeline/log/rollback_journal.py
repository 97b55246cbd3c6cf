"""The journal is not a write-ahead log."""

from typing import Any

from refbus.driver import serve
from refbus.kernel import store
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.32",)


class WithoutLog(store.Database):
    """From the first connection on: a log that goes away later was removed."""

    def __init__(self, *args: Any, pragmas: Any = (), **kwargs: Any) -> None:
        super().__init__(*args, pragmas=(*pragmas, "PRAGMA journal_mode = DELETE"), **kwargs)


store.Database = WithoutLog  # type: ignore[misc]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
