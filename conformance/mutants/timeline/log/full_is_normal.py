"""synchronous = FULL: a pragma of the schema sets NORMAL again, and no commit is synced."""

from refbus.driver import serve
from refbus.timeline import sqlite
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.48",)
CHAOS = {"power": 60}

sqlite.PRAGMAS = (*sqlite.PRAGMAS, "PRAGMA synchronous = NORMAL")

if __name__ == "__main__":
    serve({"timeline": TimelineBus})
