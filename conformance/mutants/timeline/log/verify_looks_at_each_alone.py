"""verify holds each message against its own hash, and none against the one before it."""

from refbus.driver import serve
from refbus.timeline import sqlite, verify
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.22",)

wrong = verify._wrong
verify._wrong = lambda node, last, timeline: (one for one in wrong(node, last, timeline) if one.startswith("the hash"))
sqlite.SqliteQueue.contradictions = lambda queue: []  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
