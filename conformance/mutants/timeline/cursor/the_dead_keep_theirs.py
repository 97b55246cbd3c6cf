"""A message that a dead worker had in hand never comes again."""

from refbus.driver import serve
from refbus.timeline import sqlite
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.cursor.05",)

sqlite._due = lambda tx, consumer: None


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
