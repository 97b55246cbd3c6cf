"""integrity: the file is one whole history of one run, and the bus's answers have the form of its protocol.

Nothing else can be said of a history with lines that are missing, doubled or broken: a message whose sending is
missing looks like one that nobody sent. A history that was only cut is judged as far as it goes, but is never valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from busproof.contract.history import Broken, Event
from busproof.oracle.checks.facts import Facts
from busproof.oracle.checks.verdict import Verdict, Witness, judged

_NO_CALL = object()


class Integrity:
    """Watches the lines of a history go by; `damage` is why it cannot be judged, with the first line that shows it."""

    def __init__(self) -> None:
        self.damage = ""
        self.lines = 0
        self._first: Event | None = None
        self._footer: Event | None = None
        self._states = 0
        self._open: dict[int, object] = {}  # process → the operation that waits for its answer

    @property
    def processes(self) -> set[int]:
        """Those that called."""
        return set(self._open)

    def watch(self, lines: Iterable[Event | Broken]) -> Iterator[Event]:
        """The events among them."""
        fault = self._fault
        for self.lines, line in enumerate(lines, 1):
            if type(line) is Broken:
                if not line.is_last:
                    self._damaged(f"line {line.line} is no event")
                continue
            assert type(line) is Event
            if why := fault(line):
                self._damaged(f"line {self.lines}: {why}")
            yield line
        if self._footer is not None and _counts(self._footer) != (self.lines - 1, self._states):
            self._damaged(f"line {self.lines}: the footer counts other lines than there are")

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
        if self._footer is not None:
            return "it stands after the footer"
        kind = event.type
        if kind == "invoke":
            self._open[event.process] = event.op
        elif kind in ("ok", "fail", "info"):
            waiting, self._open[event.process] = self._open.get(event.process, _NO_CALL), _NO_CALL
            if waiting != event.op:
                return "it answers no call"
        elif kind == "state":
            self._states += 1
        elif kind == "footer":
            self._footer = event
        return ""


def apart(parts: Mapping[str, Integrity]) -> str:
    """The reason why files of one name are not parts of one run; empty if they can be. Each process is in one part."""
    homes: dict[int, str] = {}
    for name, part in parts.items():
        for process in sorted(part.processes):
            if (other := homes.setdefault(process, name)) != name:
                return f"process {process} calls in {other} and in {name}: two runs of one name, to be audited apart"
    return ""


def _counts(footer: Event) -> tuple[Any, Any]:
    told = footer.value if isinstance(footer.value, dict) else {}
    return told.get("events"), told.get("states")


def check(facts: Facts) -> Verdict:
    """Unknown if it is damaged or cut, invalid if an answer is malformed."""
    known = facts.known
    witnesses = [Witness((row.event,), "malformed_answer") for row in facts.malformed] if not known.damage else []
    return judged("integrity", witnesses, known.lines, known.damage or known.unknown_because)
