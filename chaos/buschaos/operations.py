"""Operations whose every write point is killed, and the store on which they are played.

An operation needs no rules of its own. On a prepared store it is played once without a nemesis; the state before and
the state after are then the only ones that may be found when a kill cut it short, and a retry must reach the state
after. So a new operation is a new row in the `operations` of its subject.

It must be idempotent: playing it twice is playing it once. One that is not (`is_once`) is called again only if it is
certain that nothing happened. A method that has no operation stands among the subject's `reads`, or in `like` with a
reason. A test holds all three against the protocol, and sees that reads change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from busproof.bus.session import Session
from busproof.contract import HelloReply
from busproof.contract.common import T0_MS

LATER_MS = 90_000  # from the first part of the preparation to the second: longer than a lease
# When the operations happen: later again, or a renewal would change nothing.
WHEN_MS = T0_MS + LATER_MS + 10_000
BIG = "x" * 9000  # a payload for a blob, three pages long
WAITS_S = 20  # a call that waits, waits so long in real time; one that ends after half of it was not woken


Prepared = Any  # a subject's memory of the store that it prepared; only its own operations look into it


@dataclass(frozen=True)
class Operation:
    """One call; `needs` are nouns and features without which it is not applicable."""

    name: str
    noun: str  # whose rows it decides
    method: str
    params: Callable[[Prepared], dict[str, Any]]
    needs: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()  # features that a bus must not have: those that have them play another operation for it
    chars: int = 0  # of a text that it sends: a bus may declare that it takes none so long
    is_once: bool = False  # twice is not once
    is_each: bool = False  # takes messages, maybe one after the other: a death leaves some of them taken
    empty_store: bool = False  # played on an empty folder
    is_first: bool = False  # the session's first call: it has not said yet who it is
    again: tuple[str, ...] = ()  # codes with which the same call may be refused, once it has happened
    says: tuple[str, ...] = ()  # fields that must not be false: a refused claim is no claim, a full disk no contention
    ages: Callable[[Path], None] = lambda _: None  # makes the store as an older program left it
    shows: tuple[str, ...] = ()  # fields of its reply that show the state: after an error, the same or a refusal
    options: tuple[tuple[str, Any], ...] = ()  # with which its store is opened
    # A transaction for each message that waits: in a session it comes before all that may bring another.
    comes_first: bool = False
    # Two at once may have an effect that neither order has: both may handle a message that is promised at least once.
    is_at_least_once: bool = False
    # The work before the nemesis comes. An operation that has this starts or ends processes, which are on no disk: a
    # real victim dies at each point, a signal that it sends is one, and no call is told an error: that is an answer.
    first: Callable[[Session], None] | None = None
    # Another session checks whether the reply to these params was true; the fault that it finds, or nothing.
    confirm: Callable[[Session, dict[str, Any], dict[str, Any]], str] | None = None


Prepare = Callable[[Session, Session, HelloReply], Prepared]


def applicable(operation: Operation, hello: HelloReply) -> bool:
    """Does the bus declare all that the operation needs, and nothing that it must not have?"""
    declared = {*hello.nouns, *hello.features, *(["clock"] if hello.clock == "manual" else [])}
    fits = operation.chars <= hello.limits.get("body_chars_max", operation.chars)
    return fits and set(operation.needs) <= declared and declared.isdisjoint(operation.lacks)


def of_one_session(operations: Iterable[Operation], hello: HelloReply) -> list[Operation]:
    """Those that one session can play one after the other, on a store that is open and prepared."""
    return [
        op
        for op in operations
        if applicable(op, hello)
        and op.method not in ("open", "close")
        and not op.empty_store
        and not op.is_first
        and not op.options
        and op.first is None
    ]


def tell_time(session: Session, hello: HelloReply, now_ms: int) -> None:
    if hello.clock == "manual":
        session.set_clock(now_ms)
