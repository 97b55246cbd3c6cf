"""Archived messages are not found."""

from __future__ import annotations

from refbus.driver import serve
from refbus.worker import bus, search

KILLED_BY = ("worker.search.08",)


GOOD, FAULT = "FROM archived_messages WHERE seq IN", "FROM archived_messages WHERE 0 AND seq IN"
assert GOOD in search._MATCHING
search._MATCHING = search._MATCHING.replace(GOOD, FAULT).replace("LIMIT :limit)", ")")


if __name__ == "__main__":
    serve({"worker": bus.WorkerBus})
