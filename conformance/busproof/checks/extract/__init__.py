"""From the events of a history to the facts that its checks sort, a module a system."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from busproof.checks.calls import Call, calls
from busproof.checks.extract.source import Source
from busproof.checks.facts import About, Export, Facts, Malformed
from busproof.history import STATE_OPS, Event

__all__ = ["Source", "extract"]


def extract(events: Iterable[Event], source: Source) -> Facts:
    """One pass over the events."""
    reading = _Reading(source)
    for found in calls(reading.seen(events)):
        if isinstance(found, Call):
            reading.take(found)
        else:
            reading.take_row(found)
    return reading.facts()


class _Reading:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._facts = Facts()
        self._is_whole, self._lines = False, 0
        self._states: dict[str, Event] = {}  # the last dump's answer, and the last export's
        self._odd_rows: dict[str, list[Malformed]] = {}  # of those
        self._newest_ms: int | None = None

    def seen(self, events: Iterable[Event]) -> Iterable[Event]:
        for event in events:
            self._lines += 1
            self._is_whole = self._is_whole or event.type == "footer"
            yield event

    def take(self, call: Call) -> None:
        if call.op != "clock.set":  # the first one is not on the clock that it sets
            self._newest_ms = max(self._newest_ms or 0, call.at_ms)
        if call.is_malformed or (call.outcome == "ok" and self._source.has_wrong_number(call)):
            self._facts.add(Malformed(call.end))
        for fact in self._source.of_call(call):
            self._add(fact, call.end)
        if call.op in STATE_OPS and call.outcome == "ok" and call.ended is not None:
            self._states[call.op], self._odd_rows[call.op] = call.ended, []
            if call.op == "dump":
                self._facts.stored, self._facts.positions = [], []
            else:
                torn = call.reply.get("torn") is True
                self._facts.exported, self._facts.exports = [], [Export(call.end, torn)]

    def take_row(self, event: Event) -> None:
        state = self._states.get(event.op or "")
        if state is None or state.process != event.process:
            return
        for fact in self._source.of_state(event.key or "", event.value, event.index):
            if self._source.lacks(fact):
                self._odd_rows[str(event.op)].append(Malformed(event.index))
            else:
                self._facts.add(fact)

    def _add(self, fact: Any, at: int) -> None:
        self._facts.add(Malformed(at) if self._source.lacks(fact) else fact)

    def facts(self) -> Facts:
        """All of them."""
        self._facts.malformed += [row for rows in self._odd_rows.values() for row in rows]
        dump_at = self._states["dump"].index if "dump" in self._states else None
        self._facts.about = [About(self._is_whole, dump_at, self._newest_ms, self._lines)]
        return self._facts
