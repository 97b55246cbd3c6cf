"""A timeline that nobody has written to is there all the same: it can be forked before its first message (T17)."""

from refbus.driver import serve
from refbus.kernel.errors import NotFound
from refbus.timeline import token
from refbus.timeline.bus import TimelineBus
from refbus.timeline.lineage import Lineage, Span
from refbus.timeline.message import Place

place = Lineage.place


def spans(lineage: Lineage, timeline: str) -> list[Span]:
    found: list[Span] = []
    met: set[str] = set()
    at, upto = lineage._branch(token.encode(timeline)), None
    while at.timeline not in met:
        met.add(at.timeline)
        after = 0 if at.origin is None else at.origin.at
        if upto is None or upto > after:
            found.append(Span(at.timeline, after, upto))
        if at.origin is None:
            return found[::-1]
        upto = after if upto is None else min(upto, after)
        try:
            at = lineage._branch(at.origin.parent)
        except NotFound:
            return found[::-1]
    raise NotFound("its parents go in a circle")


Lineage.spans = spans  # type: ignore[method-assign]
Lineage.place = lambda lineage, timeline, number: place(lineage, timeline, number) if number else Place()  # type: ignore[method-assign]

if __name__ == "__main__":
    serve({"timeline": TimelineBus})
