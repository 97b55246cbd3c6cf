"""A number that was given and belongs to no message can be acknowledged."""

from __future__ import annotations

from refbus.driver import serve
from refbus.worker import bus, cursor

KILLED_BY = ("worker.cursor.24",)


GOOD, FAULT = "SELECT max(seq) FROM messages)", "SELECT seq FROM sqlite_sequence WHERE name = 'messages')"
assert GOOD in cursor._BEFORE_ACK
cursor._BEFORE_ACK = cursor._BEFORE_ACK.replace(GOOD, FAULT)


if __name__ == "__main__":
    serve({"worker": bus.WorkerBus})
