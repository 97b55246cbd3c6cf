"""A history's calls: each invocation with the event that closed it.

An invocation is closed by the next event of its process. Times are event indexes: the history is in the order in
which the kit saw things happen, so a call took effect between its two indexes, and an `info` one at any time after
its first. `NEVER` stands for the return of a call that never returned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from busproof.contract.history import MALFORMED, Event

NEVER = 2**62


class Call:
    """An invocation and its end. Values that every check needs are computed once: a history has millions of calls."""

    __slots__ = ("agent", "begin", "begun", "end", "ended", "is_malformed", "op", "outcome", "params", "reply")

    def __init__(self, begun: Event, ended: Event | None) -> None:
        self.begun, self.ended = begun, ended  # None: nobody knows what became of it
        self.op: str = begun.op or ""  # the protocol's method
        self.agent: str = begun.agent or ""  # the caller
        self.begin: int = begun.index  # when it was invoked
        value = begun.value
        self.params: dict[str, Any] = value if type(value) is dict else {}  # the parameters
        self.reply: dict[str, Any] = {}  # the answer to an `ok` call; nothing, if it is malformed
        self.end: int = NEVER if ended is None else ended.index  # it returned, or its process was seen to have ended
        self.outcome: str = "info" if ended is None else ended.type  # ok, fail or info
        self.is_malformed = False  # it was answered with something that the protocol does not know
        if ended is not None and ended.type == "ok":
            self.is_malformed = ended.code == MALFORMED
            if type(ended.value) is dict and not self.is_malformed:
                self.reply = ended.value

    @property
    def at_ms(self) -> int:
        """The bus's time, or the latest that it can have been."""
        begun = self.begun
        return begun.bus_ms if begun.bus_ms is not None else (self.ended or begun).wall_ms

    @property
    def at_ms_min(self) -> int:
        """The bus's time, or the earliest that it can have been."""
        return self.begun.bus_ms if self.begun.bus_ms is not None else self.begun.wall_ms


OF_CALLS = frozenset({"invoke", "ok", "fail", "info"})


def closed(pending: dict[int, Event], event: Event) -> Call | None:
    """The call of its process that this event closes. An invoke opens another, and leaves one unanswered."""
    begun = pending.pop(event.process, None)
    if event.type == "invoke":
        pending[event.process] = event
        return None if begun is None else Call(begun, None)
    return None if begun is None else Call(begun, event if begun.op == event.op else None)


def calls(events: Iterable[Event]) -> Iterator[Call | Event]:
    """Calls as they end, and rows of states as they come; an unanswered call at its process's next call, or last."""
    pending: dict[int, Event] = {}
    for event in events:
        if event.type == "state":
            yield event
        elif event.type in OF_CALLS and (call := closed(pending, event)) is not None:
            yield call
    for begun in pending.values():
        yield Call(begun, None)  # cut off in the middle: it may have happened
