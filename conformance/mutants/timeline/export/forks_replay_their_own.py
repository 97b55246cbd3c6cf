"""A replay on a fork leaves out its parent's messages."""

from typing import Any

from refbus.driver import serve
from refbus.timeline import token
from refbus.timeline.bus import TimelineBus
from refbus.timeline.lineage import Lineage

KILLED_BY = ("timeline.export.05",)
ITEM = "corpus:program_10"

read = Lineage.read


def own(lineage: Lineage, timeline: str, after: int = 0, submission: str | None = None) -> Any:
    found = read(lineage, timeline, after, submission)
    mine = token.encode(timeline)
    return found if submission is None else (node for node in found if node.subject.split(".")[1] == mine)


Lineage.read = own  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
