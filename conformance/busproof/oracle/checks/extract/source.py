"""A system's rules for taking facts from a history, and the few ways to read a value that a bus chose."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from operator import attrgetter
from typing import Any

import msgspec

from busproof.contract import Contract
from busproof.oracle.checks.calls import Call
from busproof.oracle.checks.facts import Fact as Fact
from busproof.words import is_text


@dataclass(frozen=True)
class Source:
    """How a system's facts are taken from calls and from the rows of states (list, row, its place in the list).

    `needed`: columns that must be there in this system, although the fact allows None.
    `numbers`: by method, the answer's members that are numbers, if they are there.
    `asks`: methods whose calls ask to move the caller's cursor, in the lane "", to the seq that they name.
    `forgets`: events after which messages that were acknowledged may come again.
    `of_run`: the same for a run with this header, if it matters.
    `contract`: it names the places of columns that a history may leave out.
    `clears`: methods whose calls may take messages away from readers that have never acknowledged anything.
    """

    of_call: Callable[[Call], Iterator[Fact]]
    of_state: Callable[[str, Any, int], Iterator[Fact]]
    needed: dict[type, tuple[str, ...]]
    numbers: dict[str, tuple[str, ...]]
    asks: frozenset[str] = frozenset()
    clears: frozenset[str] = frozenset()
    forgets: frozenset[str] = frozenset()
    of_run: Callable[[dict[str, Any]], Source] | None = None
    contract: Contract | None = None
    _getters: dict[type[Fact], attrgetter[Any]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def lacks(self, fact: Fact) -> bool:
        """Is a column missing that must be there?"""
        kind = type(fact)
        getter = self._getters.get(kind)
        if getter is None:
            # One more than is required, so that the result is a tuple.
            getter = self._getters[kind] = attrgetter("__class__", *self.required(kind))
        return None in getter(fact)

    def required(self, fact: type[Fact]) -> tuple[str, ...]:
        """Columns that must be there."""
        return (*_declared(fact), *self.needed.get(fact, ()))

    def has_wrong_number(self, call: Call) -> bool:
        """Does the answer hold something else where a number belongs?"""
        reply = call.reply
        for name in self.numbers.get(call.op, ()):
            value = reply.get(name)
            if value is not None and number(value) is None:
                return True
        return False


@cache
def _declared(fact: type[Fact]) -> tuple[str, ...]:
    return tuple(field.name for field in msgspec.structs.fields(fact) if "None" not in str(field.type))


def lease_of(header: dict[str, Any], option: str, usual_ms: int) -> int | None:
    """How long a lease lasts in a run; None if its header does not tell the options of its sessions."""
    return number(as_row(header["options"]).get(option, usual_ms)) if "options" in header else None


def due_ms(call: Call, lease_ms: int | None) -> int | None:
    """The earliest end of a lease granted now, by a clock that the kit has set; None if it is another."""
    set_ms = call.begun.bus_ms
    return None if lease_ms is None or set_ms is None else set_ms + lease_ms


def number(value: Any) -> int | None:
    """An integer of 64 bits, else None."""
    return value if type(value) is int and -(2**63) <= value < 2**63 else None


def text(value: Any) -> str | None:
    """A string; for anything else, half a surrogate in it among that, its JSON: Parquet holds nothing but UTF-8."""
    if value is None or (type(value) is str and (value.isascii() or is_text(value))):
        return value
    return json.dumps(value, separators=(",", ":"))


def first(*values: str | None) -> str | None:
    """The first that is not None."""
    for value in values:
        if value is not None:
            return value
    return None


def flag(value: Any) -> bool | None:
    """True or false, else None."""
    return value if isinstance(value, bool) else None


def as_row(value: Any) -> dict[str, Any]:
    """An object, else an empty one."""
    return value if type(value) is dict else {}


def as_list(value: Any) -> list[Any]:
    """A list, else an empty one."""
    return value if type(value) is list else []
