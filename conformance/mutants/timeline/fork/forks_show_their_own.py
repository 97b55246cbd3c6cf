"""A fork shows its own messages only."""

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus
from refbus.timeline.lineage import Lineage

KILLED_BY = ("timeline.fork.02",)
ITEM = "corpus:program_04"

spans = Lineage.spans
Lineage.spans = lambda lineage, timeline: spans(lineage, timeline)[-1:]  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
