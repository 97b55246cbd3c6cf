"""integrity: the file is one whole history of one run, and the bus's answers have the form of its protocol.

Nothing else can be said of a history with lines that are missing, doubled or broken: a message whose sending is
missing looks like one that nobody sent. A history that was only cut is judged as far as it goes, but is never valid.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from busproof.contract.history import STATE_OPS, Broken, Event
from busproof.oracle.checks.facts import Facts
from busproof.oracle.checks.verdict import Verdict, Witness, judged

APART = "two runs of one name, to be audited apart"


class Integrity:
    """Watches the lines of a history go by; `damage` is why it cannot be judged, with the first line that shows it.

    A range of lines may be watched by itself: it is told the header, and `goes_on` tells whether it fits its place.
    """

    def __init__(self, header: Event | None = None) -> None:
        self.damage = ""
        self.lines = 0  # up to here, from the history's first
        self._begin = 0
        self._first = header
        self._is_range = header is not None
        self._answered: dict[int, str | None] = {}  # process → the call of an earlier range that its first event ends
        self._came: dict[int, Counter[str]] = {}  # process → less the rows that belong to a state of an earlier range
        self._footer: Event | None = None
        self._is_torn = False
        self._states = 0
        self._open: dict[int, str | None] = {}  # process → the operation that waits for its answer
        self._owed: dict[int, Counter[str]] = {}  # process → the rows of its last state that have not come, by list
        self.has_dump = False

    @property
    def is_whole(self) -> bool:
        """Did its footer come?"""
        return self._footer is not None

    @property
    def processes(self) -> set[tuple[str | None, int]]:
        """Those that called, each with its host."""
        host = self._first.host if self._first is not None else None
        return {(host, process) for process in self._open}

    def watch(self, lines: Iterable[Event | Broken]) -> Iterator[Event]:
        """The events among them."""
        fault = self._fault
        if self._is_range:
            rest = iter(lines)
            first = next(rest, None)
            self._begin = self.lines = first.index if isinstance(first, Event) else 0
            lines = rest if first is None else chain([first], rest)
        for number, line in enumerate(lines, self._begin + 1):
            self.lines = number
            if type(line) is Broken:
                self._is_torn = line.is_last
                if not line.is_last:
                    self._damaged(f"line {line.line} is no event: {line.why}")
                continue
            assert type(line) is Event
            if why := fault(line):
                self._damaged(f"line {self.lines}: {why}")
            yield line
        if not self._is_range:
            self.end()

    def end(self) -> None:
        """All is seen, as the footer counts it."""
        if self._footer is not None and _counts(self._footer) != (self.lines - 1, self._states):
            self._damaged(f"line {self.lines}: the footer counts other lines than there are")
        if any(map(any, map(Counter.values, self._owed.values()))):
            self._damaged(f"line {self.lines}: the file ends before all rows of a state that its answer counts")

    def goes_on(self, later: Integrity) -> bool:
        """Does this range follow on what was seen, and is all whole? It is seen, too."""
        if self.damage or later.damage or self._is_torn or self.is_whole or later._begin != self.lines:
            return False
        if any(self._open.get(process) != op for process, op in later._answered.items()):
            return False
        for process, rows in later._came.items():
            if process not in self._owed:
                return False
            self._owed[process].update(rows)  # which are less than none
            if any(n < 0 for n in self._owed[process].values()):
                return False
        if any(any(self._owed.pop(process, _NONE_OWED).values()) for process in later._open):
            return False
        self._open |= later._open
        self._owed |= later._owed
        self.lines, self._footer, self._states = later.lines, later._footer, self._states + later._states
        self.has_dump |= later.has_dump
        self._is_torn = later._is_torn
        return True

    def _damaged(self, why: str) -> None:
        self.damage = self.damage or why

    def _fault(self, event: Event) -> str:
        first = self._first
        if first is None:
            first = self._first = event
        if event.index != self.lines - 1:
            return f"its index is {event.index}"
        if event.run != first.run or event.system != first.system:
            return "it is of another run"
        if event.host is not None and event.host != first.host:
            return "it is of another host than the header: each file holds the lines of one"
        if self._footer is not None:
            return "it stands after the footer"
        kind = event.type
        if event.op is None and kind in _OF_CALLS:
            return "it names no op"
        if kind == "state":
            self._states += 1
            return self._of_state(event)
        if self._owed and any(self._owed.pop(event.process, _NONE_OWED).values()):
            return "rows are missing before it that the answer of its process's state counts"
        if kind == "invoke":
            self._open[event.process] = event.op
        elif kind in ("ok", "fail", "info"):
            if self._is_range and event.process not in self._open:
                self._answered[event.process] = event.op
            elif self._open.get(event.process) != event.op:
                self._open[event.process] = None
                return "it answers no call"
            self._open[event.process] = None
            if kind == "ok" and event.op in STATE_OPS:
                self.has_dump = self.has_dump or event.op == "dump"
                self._owed[event.process] = _rows(event)
                if isinstance(event.value, dict) and any(isinstance(member, list) for member in event.value.values()):
                    return "the lists of a state stand in its answer, not in lines of their own"
        elif kind == "header" and event.index:
            return "it is a second header"
        elif kind == "footer":
            self._footer = event
        return ""

    def _of_state(self, event: Event) -> str:
        is_of_earlier = self._is_range and event.process not in self._open
        owed = self._came.setdefault(event.process, Counter()) if is_of_earlier else self._owed.get(event.process)
        if owed is None:
            return "no answer of a state stands before it"
        if event.key is None:
            return "it is a row of a state without the name of its list, `key`"
        owed[event.key] -= 1
        is_more = owed[event.key] < 0 and not is_of_earlier
        return "it is one row more than the answer of its state counts" if is_more else ""


_NONE_OWED = Counter[str]()
_OF_CALLS = ("invoke", "ok", "fail", "info", "state")


def _rows(event: Event) -> Counter[str]:
    """The rows of each list of a state, if its answer tells their numbers."""
    rows = event.value.get("rows") if isinstance(event.value, dict) else None
    return Counter({key: n for key, n in rows.items() if type(n) is int} if isinstance(rows, dict) else {})


def apart(parts: Mapping[str, Integrity]) -> str:
    """The reason why files of one name are not parts of one run; empty if they can be. Each process is in one part."""
    homes: dict[tuple[str | None, int], str] = {}
    for name, part in parts.items():
        for host, process in sorted(part.processes, key=lambda caller: caller[1]):
            if (other := homes.setdefault((host, process), name)) != name:
                return f"process {process} calls in {other} and in {name}: {APART}"
    dumps = [name for name, part in parts.items() if part.has_dump]
    if len(dumps) > 1:
        return f"a final state stands in {dumps[0]} and in {dumps[1]}: {APART}"
    return ""


def _counts(footer: Event) -> tuple[Any, Any]:
    counts = footer.value if isinstance(footer.value, dict) else {}
    return counts.get("events"), counts.get("states")


def check(facts: Facts) -> Verdict:
    """Unknown if it is damaged or cut, invalid if an answer is malformed."""
    known = facts.known
    witnesses = [Witness((row.event,), "malformed_answer") for row in facts.malformed] if not known.damage else []
    verdict = judged("integrity", witnesses, known.lines, known.damage or known.unknown_because)
    return replace(verdict, reason=verdict.reason or known.clocks)
