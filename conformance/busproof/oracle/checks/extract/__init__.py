"""From the events of a history to the facts that its checks sort, one module per system.

`Taking` makes entries of the events, and may do so range by range, side by side; `Reading` goes through all entries in
their order, and gives the facts to a sink.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from busproof.contract.history import Event
from busproof.oracle.checks.calls import Call, closed
from busproof.oracle.checks.extract.entries import Asked, Cleared, Entry, Forgot, Head, Row, State, Told
from busproof.oracle.checks.extract.following import Following
from busproof.oracle.checks.extract.source import Source
from busproof.oracle.checks.extract.taking import NO_TIME, Taking
from busproof.oracle.checks.facts import About, Content, Export, Fact, Facts, Malformed

if TYPE_CHECKING:
    from busproof.oracle.checks.extract.ranges import Range

__all__ = ["RESTARTS", "Reading", "Sink", "Source", "Taking", "extract", "extract_into"]

RESTARTS = {"dump": ("stored", "positions"), "read_export": ("exported", "exports")}  # the streams of a state


class Sink(Protocol):
    """The place where facts go: memory, or disk."""

    def add(self, fact: Fact, /) -> None:
        """Take one."""

    def restart(self, *streams: str) -> None:
        """Forget the facts of an earlier state."""


def extract(events: Iterable[Event], source: Source) -> Facts:
    """One pass over the events."""
    facts = Facts()
    facts.about = [extract_into(facts, events, source)]
    return facts


def extract_into(sink: Sink, events: Iterable[Event], source: Source) -> About:
    """The same, into any sink, except for the one row about all of it, which is returned."""
    taking = Taking(source)
    reading = Reading(taking)
    reading.read(taking.entries(events), sink)
    return reading.ended(sink)


EVENTS_OF_A_BLOCK = 5_000


class _Shown:
    """The contents shown in this block of events: a message is shown to many readers, to each in the same words."""

    def __init__(self) -> None:
        self._block, self._contents = -1, set[tuple[str, str, int | None]]()

    def is_new(self, content: Content) -> bool:
        """Or it was sent, or shown in another block."""
        if content.is_sent:
            return True
        if (block := content.end // EVENTS_OF_A_BLOCK) != self._block:
            self._block, self._contents = block, set()
        shown = content.lane, content.message, content.digest
        is_new = shown not in self._contents
        self._contents.add(shown)
        return is_new


class Reading:
    """All that is known at a place of a history: it reads the entries after that place, range after range.

    What is `known` is bytes, so each range is read by itself, once it is known what the ranges before it left.
    """

    def __init__(self, taking: Taking, known: bytes = b"") -> None:
        self._taking, source = taking, taking.source  # of a range: of the calls that began in an earlier one
        self._following = Following(source.asks, names_claims=bool(source.forgets))
        self._shown = _Shown()
        self._states: dict[str, State] = {}  # the last dump's answer, and the last export's
        self._odd_rows: dict[str, list[Malformed]] = {}  # the odd rows of those
        if known:
            of_calls, self._following, self._shown, self._states, self._odd_rows = pickle.loads(known)
            self._taking.open, self._taking.newest_ms, self._taking.lines = of_calls

    def known(self) -> bytes:
        """For another process, which goes on here."""
        taking = self._taking
        of_calls = taking.open, taking.newest_ms, taking.lines
        return pickle.dumps((of_calls, self._following, self._shown, self._states, self._odd_rows))

    def read(self, entries: Iterable[Entry], sink: Sink, heads: Sequence[Event] = ()) -> None:
        """Let the facts of these entries know what was before them, and give them to the sink."""
        for entry in entries:
            if type(entry) is Told:
                self._tell(entry, sink)
            elif type(entry) is not Head:
                self._take(entry, sink)
            else:
                for late in self._closed(heads[entry.place]):
                    self._take(late, sink)

    def _closed(self, head: Event) -> Iterator[Entry]:
        """The entries of a call of an earlier range that this event closes."""
        call = closed(self._taking.open, head)
        self._taking.open.pop(head.process, None)
        return iter(()) if call is None else self._taking.told(call)

    def _take(self, entry: Entry, sink: Sink) -> None:
        match entry:
            case Told():
                self._tell(entry, sink)
            case Row():
                self._take_row(entry, sink)
            case Asked():
                self._following.see(entry)
            case State():
                self._states[entry.op], self._odd_rows[entry.op] = entry, []
                self._following.restart()
                sink.restart(*RESTARTS[entry.op])
                if entry.op == "read_export":
                    sink.add(Export(entry.index, entry.torn))
            case Cleared():
                self._following.cleared()
            case Forgot():
                self._following.forgot(entry.index)

    def _tell(self, answered: Told, sink: Sink) -> None:
        lacks, is_new, add = self._taking.source.lacks, self._shown.is_new, sink.add
        for fact in self._following.of_call(answered.facts):
            if type(fact) is Content:
                if is_new(fact):
                    add(fact)
            else:
                add(Malformed(answered.end) if lacks(fact) else fact)

    def _take_row(self, row: Row, sink: Sink) -> None:
        state = self._states.get(row.op)
        if state is None or state.process != row.process:
            return
        for fact in row.facts:
            if type(fact) is Content:
                if self._shown.is_new(fact):
                    sink.add(fact)
            elif self._taking.source.lacks(fact):
                self._odd_rows[row.op].append(Malformed(row.index))
            else:
                sink.add(self._following.of_row(fact))

    def follow_on(self, range_: Range) -> None:
        """A range ends: its open calls are open now."""
        taking = self._taking
        taking.open |= range_.open
        taking.newest_ms = max(taking.newest_ms, range_.newest_ms)
        taking.lines += range_.lines
        taking.is_whole = range_.is_whole

    def ended(self, sink: Sink) -> About:
        """The row about all, once all is read."""
        for call in (Call(begun, None) for begun in self._taking.open.values()):
            for entry in self._taking.told(call):  # cut off in the middle: it may have happened
                self._take(entry, sink)
        for rows in self._odd_rows.values():
            for row in rows:
                sink.add(row)
        taking = self._taking
        dump_at = self._states["dump"].index if "dump" in self._states else None
        return About(taking.is_whole, dump_at, None if taking.newest_ms == NO_TIME else taking.newest_ms, taking.lines)
