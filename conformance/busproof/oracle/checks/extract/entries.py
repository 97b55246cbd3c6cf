"""What a range of a history tells, in its order, before it is known what came before the range.

Any process can take the entries of any range. `Reading` takes all entries in their order, and makes them facts.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import msgspec

from busproof.oracle.checks.facts import FACTS, About

AnyFact = functools.reduce(operator.or_, (fact for fact in FACTS.values() if fact is not About))


class Entry(msgspec.Struct, array_like=True, tag=True, gc=False):
    """One of them."""


class Told(Entry):
    """The facts of one call, which ended here."""

    end: int
    facts: list[AnyFact]  # type: ignore[valid-type]


class Row(Entry):
    """The facts of one row of a state."""

    op: str
    process: int
    index: int
    facts: list[AnyFact]  # type: ignore[valid-type]


class State(Entry):
    """The answer that a state's rows follow; `torn`: an export holds something that is not a whole line."""

    op: str
    process: int
    index: int
    torn: bool


class Asked(Entry):
    """An event of a call that asks to move the agent's cursor to a seq: from an invoke on, it may move."""

    process: int
    agent: str
    seq: int | None  # of an invoke


class Cleared(Entry):
    """From here on, messages may be gone."""


class Forgot(Entry):
    """Claims begin anew, with those that begin behind this event."""

    index: int


class Head(Entry):
    """The first event of a process in a range, by its place among those: it may close a call of an earlier range."""

    place: int


AnyEntry = Told | Row | State | Asked | Cleared | Forgot | Head
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[AnyEntry])


def packed(entries: list[Entry]) -> bytes:
    """As bytes, for another process."""
    return _encoder.encode(entries)


def unpacked(data: bytes) -> list[Any]:
    """The entries."""
    return _decoder.decode(data)
