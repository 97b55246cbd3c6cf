"""The facts of one long history, range by range: only a few words of each range are read in order.

    take     the lines of a range → its entries, packed, and its `Range`: all that the others need of it
    Seams    the `Range`s, in their order → what is known where each begins
    facts    the packed entries of a range, and what is known where it begins → its facts

Any process may take a range, and any may make the facts of one. A damaged history is not taken so: one pass over all
of it tells where the damage is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain

from busproof.contract.history import Broken, Event, HistoryError
from busproof.oracle.checks.extract import RESTARTS, Reading, Sink, Source, Taking
from busproof.oracle.checks.extract.entries import Entry, State, packed, unpacked
from busproof.oracle.checks.extract.words import last_words
from busproof.oracle.checks.facts import Fact
from busproof.oracle.checks.integrity import Integrity

ENTRIES_TOGETHER = 5_000


class Damaged(HistoryError):
    """The ranges make no whole history."""


@dataclass
class Range:
    """All that the others need of a range."""

    heads: list[Event]
    open: dict[int, Event]
    newest_ms: int
    lines: int
    is_whole: bool
    restarts: set[str]  # the streams of states that begin here
    words: list[Entry]
    integrity: Integrity


def take(lines: Iterable[Event | Broken], source: Source, header: Event, put: Callable[[bytes], object]) -> Range:
    """Put the entries of these lines somewhere."""
    integrity, taking = Integrity(header), Taking(source, header.value)
    entries = list(taking.entries(integrity.watch(lines)))
    for start in range(0, len(entries), ENTRIES_TOGETHER):
        put(packed(entries[start : start + ENTRIES_TOGETHER]))
    restarts = {name for entry in entries if type(entry) is State for name in RESTARTS[entry.op]}
    words = last_words(entries, [begun.index for begun in taking.open.values()], taking.source)
    return Range(taking.heads, taking.open, taking.newest_ms, taking.lines, taking.is_whole, restarts, words, integrity)


class Seams:
    """Knows what the ranges so far leave to the next one."""

    def __init__(self, source: Source, header: Event) -> None:
        self._reading = Reading(Taking(source, header.value))
        self._integrity = Integrity(header)

    def known_before(self, range_: Range) -> bytes:
        """What is known where this range begins, the next one. Raises Damaged if it does not follow on the others."""
        known = self._reading.known()
        if not self._integrity.goes_on(range_.integrity):
            raise Damaged
        self._reading.read(range_.words, _Nowhere(), range_.heads)
        self._reading.follow_on(range_)
        range_.words = []  # nobody needs them any more
        return known

    def end(self) -> None:
        """That was the last one. Raises Damaged if the history is not as its footer says."""
        self._integrity.end()
        if self._integrity.damage:
            raise Damaged


class _Nowhere:
    """A sink that keeps nothing."""

    def add(self, fact: Fact, /) -> None:
        """Forget it."""

    def restart(self, *streams: str) -> None:
        """Nothing is there."""


def facts(source: Source, header: Event, range_: Range, known: bytes, entries: Iterable[bytes], sink: Sink) -> Reading:
    """Give the facts of a range to the sink; what it returns can end the history, if that was the last range."""
    reading = Reading(Taking(source, header.value), known)
    reading.read(chain.from_iterable(map(unpacked, entries)), sink, range_.heads)
    reading.follow_on(range_)
    return reading
