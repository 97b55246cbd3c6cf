"""A call on a fork is not answered from its parent's record."""

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus
from refbus.timeline.lineage import Lineage

KILLED_BY = ("timeline.fork.06",)
ITEM = "corpus:a_fork_goes_on"

sight = Lineage.sight
Lineage.sight = lambda lineage, timeline: sight(lineage, timeline)[:1]  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
