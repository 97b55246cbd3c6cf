"""The journal is not a write-ahead log."""

from typing import Any

from refbus.kernel import store
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.17",)


class WithoutLog(store.Database):
    """From the first connection on: a log that goes away later was removed."""

    def __init__(self, *args: Any, pragmas: Any = (), **kwargs: Any) -> None:
        super().__init__(*args, pragmas=(*pragmas, "PRAGMA journal_mode = DELETE"), **kwargs)


store.Database = WithoutLog  # type: ignore[misc]

if __name__ == "__main__":
    raise SystemExit(main(TopicsBus))
