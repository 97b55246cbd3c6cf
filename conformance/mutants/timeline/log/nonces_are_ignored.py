"""A delegation is known by its key alone: one with another nonce is a repeat, or a conflict."""

from refbus.driver import serve
from refbus.timeline import sqlite
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.14",)
ITEM = "corpus:program_15"

sqlite._FIND = sqlite._FIND.replace("AND coalesce(nonce, '') = ?", "AND coalesce(nonce, '') >= substr(?, 1, 0)")


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
