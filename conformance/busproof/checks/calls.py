"""A history's calls: each invocation with the event that closed it.

An invocation is closed by the next event of its process. Times are event indexes: the history is in the order in
which the kit saw things happen, so a call took effect between its two indexes, and an `info` one at any time after
its first. `NEVER` stands for the return of what never returned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from busproof.history import MALFORMED, Event

NEVER = 2**62


@dataclass(frozen=True, slots=True)
class Call:
    """An invocation and its end."""

    begun: Event
    ended: Event | None  # None: nobody knows what became of it

    @property
    def op(self) -> str:
        """The protocol's method."""
        return self.begun.op or ""

    @property
    def agent(self) -> str:
        """Who calls."""
        return self.begun.agent or ""

    @property
    def begin(self) -> int:
        """When it was invoked."""
        return self.begun.index

    @property
    def end(self) -> int:
        """When it returned, or when it was seen that its process had ended."""
        return self.ended.index if self.ended else NEVER

    @property
    def outcome(self) -> str:
        """ok, fail or info."""
        return self.ended.type if self.ended else "info"

    @property
    def is_malformed(self) -> bool:
        """It was answered with something that the protocol does not know."""
        return self.ended is not None and self.outcome == "ok" and self.ended.code == MALFORMED

    @property
    def params(self) -> dict[str, Any]:
        """What was asked."""
        return self.begun.value if isinstance(self.begun.value, dict) else {}

    @property
    def reply(self) -> dict[str, Any]:
        """What an `ok` call was answered; nothing, if it is malformed."""
        value = self.ended.value if self.ended and self.outcome == "ok" and not self.is_malformed else None
        return value if isinstance(value, dict) else {}

    @property
    def at_ms(self) -> int:
        """The bus's time, or the latest that it can have been."""
        begun = self.begun
        return begun.bus_ms if begun.bus_ms is not None else (self.ended or begun).wall_ms

    @property
    def at_ms_min(self) -> int:
        """The bus's time, or the earliest that it can have been."""
        return self.begun.bus_ms if self.begun.bus_ms is not None else self.begun.wall_ms


def calls(events: Iterable[Event]) -> Iterator[Call | Event]:
    """Calls as they end, and the rows of states as they come; the unanswered at their process's next call, or last."""
    pending: dict[int, Event] = {}
    for event in events:
        if event.type == "invoke":
            if (unanswered := pending.pop(event.process, None)) is not None:
                yield Call(unanswered, None)
            pending[event.process] = event
        elif event.type in ("ok", "fail", "info"):
            begun = pending.pop(event.process, None)
            if begun is not None:
                yield Call(begun, event if begun.op == event.op else None)
        elif event.type == "state":
            yield event
    for begun in pending.values():
        yield Call(begun, None)  # cut off in the middle: it may have happened
