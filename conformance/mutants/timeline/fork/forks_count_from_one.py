"""A fork's first message has the number 1."""

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus
from refbus.timeline.lineage import Lineage

KILLED_BY = ("timeline.fork.08",)
ITEM = "corpus:program_03"

place = Lineage.place
Lineage.place = lambda lineage, timeline, number: place(lineage, timeline, number)._replace(number=0)  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
