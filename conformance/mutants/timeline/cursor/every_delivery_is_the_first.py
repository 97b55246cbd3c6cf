"""delivery_count is always 1."""

from refbus.driver import serve
from refbus.timeline import cursor
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.cursor.04",)
ITEM = "corpus:program_02"

as_fetched = cursor._as_fetched
cursor._as_fetched = lambda taken: {**as_fetched(taken), "delivery_count": 1}


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
