"""Each process has its own consumers, so a message that one worker has in hand, or has done, comes to another."""

import os

from refbus.driver import serve
from refbus.timeline import filters
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.cursor.15",)
ITEM = "corpus:consumers_have_one_name"

consumer = filters.Filter.consumer.fget  # type: ignore[attr-defined]
filters.Filter.consumer = property(lambda wanted: f"{os.getpid()}-{consumer(wanted)}")  # type: ignore[assignment, method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
