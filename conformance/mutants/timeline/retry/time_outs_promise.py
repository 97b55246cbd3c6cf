"""TIMEOUT says that certainly nothing happened, and the request stands in the record."""

from refbus.driver import serve
from refbus.kernel.errors import TimedOut
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.retry.05", "timeline.log.31")
ITEM = "corpus:sent_twice"

TimedOut.definite = True


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
