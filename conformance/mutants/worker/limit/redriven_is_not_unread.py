"""A redriven message does not count against the bound."""

from __future__ import annotations

from refbus.driver import serve
from refbus.worker import bus, route

KILLED_BY = ("worker.limit.17",)


GOOD, FAULT = "WHERE seq IN (SELECT seq FROM redriven WHERE agent_id = :agent)", "WHERE 0"
assert GOOD in route._COUNT_UNREAD
route._COUNT_UNREAD = route._COUNT_UNREAD.replace(GOOD, FAULT)


if __name__ == "__main__":
    serve({"worker": bus.WorkerBus})
