"""From the events of a history to the facts that its checks sort, one module per system."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from busproof.contract.history import STATE_OPS, Event, fill, left_out
from busproof.oracle.checks.calls import Call, calls
from busproof.oracle.checks.extract.following import Following
from busproof.oracle.checks.extract.source import Source, as_row
from busproof.oracle.checks.facts import About, Content, Export, Fact, Facts, Malformed

__all__ = ["Sink", "Source", "extract", "extract_into"]


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
    reading = _Reading(source, sink)
    for entry in calls(reading.seen(events)):
        if type(entry) is Call:
            reading.take(entry)
        else:
            reading.take_row(entry)  # type: ignore[arg-type]
    return reading.about()


_NO_TIME = -1
SHOWN_KEPT = 100_000


class _Shown:
    """The contents that were shown of late: a message is shown to many readers, and to each in the same words."""

    def __init__(self) -> None:
        self._last: set[int] = set()
        self._before: set[int] = set()

    def is_new(self, content: Content) -> bool:
        """Or it was sent, or shown long ago."""
        if content.is_sent:
            return True
        mark = hash((content.lane, content.message, content.digest))
        if mark in self._last or mark in self._before:
            return False
        self._last.add(mark)
        if len(self._last) > SHOWN_KEPT:
            self._before, self._last = self._last, set()
        return True


class _Reading:
    def __init__(self, source: Source, sink: Sink) -> None:
        self._source, self._sink = source, sink
        self._following, self._shown = Following(source.asks, names_claims=bool(source.forgets)), _Shown()
        self._is_whole, self._lines = False, 0
        self._states: dict[str, Event] = {}  # the last dump's answer, and the last export's
        self._odd_rows: dict[str, list[Malformed]] = {}  # the odd rows of those
        self._newest_ms = _NO_TIME
        self._left_out = {} if source.contract is None else left_out(source.contract)

    def seen(self, events: Iterable[Event]) -> Iterable[Event]:
        asks, see = self._source.asks, self._following.see
        clears, forgets = self._source.clears, self._source.forgets
        told_in_value, contract = self._left_out.get, self._source.contract
        for self._lines, event in enumerate(events, 1):
            if contract is not None and (names := told_in_value((event.type, event.op or ""))) is not None:
                fill(event, names, contract)
            if event.op in asks:
                see(event)
            elif event.op in clears:
                self._following.cleared()
            elif event.op in forgets:
                self._following.forgot()
            elif event.type == "header" and self._source.of_run is not None:
                self._source = self._source.of_run(as_row(event.value))
            elif event.type == "footer":
                self._is_whole = True
            yield event

    def take(self, call: Call) -> None:
        source, sink = self._source, self._sink
        at_ms, add, lacks = call.at_ms, sink.add, source.lacks
        # The first clock.set does not have the time of the clock that it sets.
        if at_ms > self._newest_ms and call.op != "clock.set":
            self._newest_ms = at_ms
        if call.is_malformed or (call.outcome == "ok" and source.has_wrong_number(call)):
            add(Malformed(call.end))
        for fact in self._following.of_call(source.of_call(call)):
            if type(fact) is not Content:
                add(Malformed(call.end) if lacks(fact) else fact)
            elif self._shown.is_new(fact):
                add(fact)
        if call.op in STATE_OPS and call.outcome == "ok" and call.ended is not None:
            self._states[call.op], self._odd_rows[call.op] = call.ended, []
            self._following.restart()
            if call.op == "dump":
                sink.restart("stored", "positions")
            else:
                sink.restart("exported", "exports")
                sink.add(Export(call.end, call.reply.get("torn") is True))

    def take_row(self, event: Event) -> None:
        state = self._states.get(event.op or "")
        if state is None or state.process != event.process:
            return
        for fact in self._source.of_state(event.key or "", event.value, event.index):
            if type(fact) is Content:
                if self._shown.is_new(fact):
                    self._sink.add(fact)
            elif self._source.lacks(fact):
                self._odd_rows[str(event.op)].append(Malformed(event.index))
            else:
                self._sink.add(self._following.of_row(fact))

    def about(self) -> About:
        """The row about all, once all is taken."""
        for rows in self._odd_rows.values():
            for row in rows:
                self._sink.add(row)
        dump_at = self._states["dump"].index if "dump" in self._states else None
        newest_ms = None if self._newest_ms == _NO_TIME else self._newest_ms
        return About(self._is_whole, dump_at, newest_ms, self._lines)
