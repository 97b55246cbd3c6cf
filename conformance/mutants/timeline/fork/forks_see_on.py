"""A fork sees its parent's later messages."""

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus
from refbus.timeline.lineage import Lineage

KILLED_BY = ("timeline.fork.03",)
ITEM = "corpus:a_fork_goes_on"

spans = Lineage.spans
Lineage.spans = lambda lineage, timeline: [one._replace(upto=None) for one in spans(lineage, timeline)]  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
