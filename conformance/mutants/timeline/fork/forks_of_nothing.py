"""A fork of a timeline that nobody has written to is made."""

from refbus.driver import serve
from refbus.kernel.errors import NotFound
from refbus.timeline.bus import TimelineBus
from refbus.timeline.lineage import Lineage
from refbus.timeline.message import Place

KILLED_BY = ("timeline.fork.10",)
ITEM = "corpus:program_01"

place = Lineage.place


def anywhere(lineage: Lineage, timeline: str, number: int) -> Place:
    try:
        return place(lineage, timeline, number)
    except NotFound:
        return Place(number)


Lineage.place = anywhere  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
