"""The messages that a timeline sees: its ancestors' up to where each was left, then its own (T8).

main     1 ── 2 ── 3 ── 4 ── 5
                    └── 4' ── 5'         a fork at 3 sees 1 2 3 4' 5', whatever main does later
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from refbus.kernel.errors import NotFound
from refbus.timeline import keys, token
from refbus.timeline.keys import Key
from refbus.timeline.message import Node, Place
from refbus.timeline.queue import Branch
from refbus.timeline.store import Store

PAGE = 500
ORIGINS_MAX = 10_000  # kept in memory; others are asked for again


class Span(NamedTuple):
    """A stretch of one timeline's own messages that is seen: numbers above `after`, up to `upto` (None: all)."""

    timeline: str
    after: int
    upto: int | None


class Lineage:
    """Reading through to the parents."""

    def __init__(self, store: Store, known: Mapping[str, Branch] | None = None) -> None:
        self.store = store
        self._origins = dict(known or {})  # where a timeline began never changes

    def spans(self, timeline: str) -> list[Span]:
        """The stretches that a timeline (a name) sees, oldest first. Raises NOT_FOUND for an unknown one."""
        spans: list[Span] = []
        met: set[str] = set()
        at, upto = self._branch(token.encode(timeline)), None
        while True:
            if at.timeline in met:  # somebody was at the file
                raise NotFound(f"timeline {timeline!r:.100} has no beginning: its parents go in a circle")
            met.add(at.timeline)
            after = 0 if at.origin is None else at.origin.at
            if upto is None or upto > after:
                spans.append(Span(at.timeline, after, upto))
            if at.origin is None:
                return spans[::-1]
            upto = after if upto is None else min(upto, after)
            at = self._branch(at.origin.parent)

    def read(self, timeline: str, after: int = 0, submission: str | None = None) -> Iterator[Node]:
        """The messages seen behind `after`, in the order of the numbers."""
        wanted = None if submission is None else token.encode(submission)
        for span in self.spans(timeline):
            last = max(after, span.after)
            while page := self.store.queue.read(span.timeline, last, PAGE, wanted):
                for node in page:
                    if span.upto is not None and node.number > span.upto:
                        break
                    yield node
                last = page[-1].number
                if len(page) < PAGE or (span.upto is not None and last >= span.upto):
                    break

    def place(self, timeline: str, number: int) -> Place:
        """The place of message `number` as the timeline sees it; 0 is before the first. Raises NOT_FOUND."""
        spans = self.spans(timeline)
        if number == 0:
            return Place()
        for span in spans:
            if span.after < number and (span.upto is None or number <= span.upto):
                for node in self.store.queue.read(span.timeline, number - 1, 1):
                    if node.number == number:
                        return node.place
        raise NotFound(f"timeline {timeline!r:.100} has no message {number}")

    def sight(self, timeline: str) -> list[Span]:
        """The stretches that a timeline sees, its own first; none where it is unknown."""
        try:
            return self.spans(timeline)[::-1]
        except NotFound:
            return []

    def find(self, span: Span, key: Key, nonce: str | None = None) -> Node | None:
        """The message with this key in a stretch: an ancestor sent it under its own name, before it was left."""
        own = replace(key, timeline=token.decode(span.timeline))
        node = self.store.queue.find(keys.subject(own), None if nonce is None else token.encode(nonce))
        return None if node is None or (span.upto is not None and node.number > span.upto) else node

    def _branch(self, timeline: str) -> Branch:
        known = self._origins.get(timeline) or self.store.queue.branch(timeline)
        if known is None:
            raise NotFound(f"there is no timeline {token.shown(timeline)!r:.100}")
        if len(self._origins) >= ORIGINS_MAX:
            self._origins.clear()
        self._origins[timeline] = known
        return known
