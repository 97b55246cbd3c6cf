"""A history's calls: each invocation with the event that closed it.

An invocation is closed by the next event of its process. Times are event indexes: the history is in the order in
which the kit saw things happen, so a call took effect between its two indexes, and an `info` one at any time after
its first. `NEVER` stands for the return of what never returned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from busproof.history import Event

NEVER = 2**62


@dataclass(frozen=True, slots=True)
class Call:
    """An invocation and its end."""

    begun: Event
    ended: Event | None  # None: nobody knows what became of it

    @property
    def end(self) -> int:
        """When it returned, or when it was seen that its process had ended."""
        return self.ended.index if self.ended else NEVER

    @property
    def outcome(self) -> str:
        """ok, fail or info."""
        return self.ended.type if self.ended else "info"

    @property
    def params(self) -> dict[str, Any]:
        """What was asked."""
        return self.begun.value if isinstance(self.begun.value, dict) else {}

    @property
    def reply(self) -> dict[str, Any]:
        """What an `ok` call was answered."""
        value = self.ended.value if self.ended and self.outcome == "ok" else None
        return value if isinstance(value, dict) else {}

    @property
    def at_ms(self) -> int:
        """The bus's time, or the latest that it can have been."""
        begun = self.begun
        return begun.bus_ms if begun.bus_ms is not None else (self.ended or begun).wall_ms


@dataclass(kw_only=True)
class Completeness:
    """What of a history is there to be judged; the facts of each system are one of these."""

    dump_at: int | None = None  # the event of the final state
    is_whole: bool = False

    @property
    def unknown_because(self) -> str:
        """Why no verdict can be valid."""
        return "" if self.is_whole else "the history has no footer: it was cut"

    @property
    def no_dump(self) -> str:
        """Why what needs the final state cannot be told."""
        return "" if self.dump_at is not None else "the history has no final dump"


class Calls:
    """Iterates over the calls of a history; afterwards `is_whole` says whether it had its footer."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._events = events
        self.is_whole = False

    def __iter__(self) -> Iterator[Call]:
        pending: dict[int, Event] = {}
        for event in self._events:
            if event.type == "invoke":
                if (unanswered := pending.pop(event.process, None)) is not None:
                    yield Call(unanswered, None)
                pending[event.process] = event
            elif event.type in ("ok", "fail", "info"):
                begun = pending.pop(event.process, None)
                if begun is not None:
                    yield Call(begun, event if begun.op == event.op else None)
            elif event.type == "footer":
                self.is_whole = True
        for begun in pending.values():
            yield Call(begun, None)  # cut off in the middle: it may have happened
