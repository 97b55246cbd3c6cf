"""Bounds of fields, as data: how small and how large a value may be, and the sentence that is broken beyond.

A contract has a table of them, and the kit tells such a number nowhere else. The refusals of a model, limits in
`hello`, values at the edges (for the generator, for a script of the corpus, for scenarios) and a table of the
specification are taken from it. A value between `least` and `low`, or `high` and `most`, is free: a bus may take it or
refuse it, and no row says which.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from busproof.words import is_text

INT_MAX = 2**63 - 1
LIST_MAX = 2**31 - 1  # members that every bus lets a caller ask for
DAY_S = 24 * 60 * 60
LEVELS_MAX = 256  # of objects and lists in a JSON value, the value itself being the first
MIB = 2**20
_NO_LINE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def is_line(value: Any) -> bool:
    """Is it a text without control characters and half surrogates?"""
    return type(value) is str and not _NO_LINE.search(value)


def is_no_path(value: Any) -> bool:
    """Is it a text of one line that leads nowhere as a part of a path?"""
    return is_line(value) and value != "." and not any(bad in value for bad in ("/", "\\", ".."))


def _is_number(value: Any) -> bool:
    if type(value) is int:
        return -INT_MAX - 1 <= value <= INT_MAX
    return type(value) is float and math.isfinite(value)


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of values, and what is measured of one."""

    unit: str
    is_one: Callable[[Any], bool]
    size: Callable[[Any], Any]
    sized: Callable[[Any], Any]  # a value of this size
    wrong: tuple[Any, ...]  # values of no size, which every bus refuses
    refused: str  # the same, in words


_NO_TEXT = ("", "a\x00b", "\x7f", "\x85", "\ud800", 5, True, ["a"])
_SIGNS = "control characters, half surrogates"
NAME = Kind(
    " bytes",
    is_no_path,
    lambda name: len(name.encode()),
    lambda size: "\u00e9" * (size // 2) + "n" * (size % 2),
    (*_NO_TEXT, "a\nb", "a/b", "a\\b", "..", "a..b", "."),
    rf"`/`, `\`, `..` anywhere, the name `.`, {_SIGNS}",
)
TEXT = Kind(" characters", is_line, len, lambda size: "\u00e9" * size, _NO_TEXT, _SIGNS)
PROSE = Kind(
    " characters",
    lambda value: type(value) is str and "\0" not in value,
    len,
    lambda size: "\u6f22" * size,
    ("", "a\x00b", 5, True, ["a"]),
    "NUL",
)
RAW = Kind(
    " bytes",
    lambda value: type(value) is str and is_text(value),
    NAME.size,
    NAME.sized,
    ("", "\ud800", 5, True, ["a"]),
    "half surrogates",
)
LIST = Kind(" items", lambda value: type(value) is list, len, lambda size: ["n"] * size, (), "")
WHOLE = Kind("", lambda value: type(value) is int, int, int, (True, 1.5, "1", [1]), "`true`, fractions, texts")
NUMBER = Kind("", _is_number, float, lambda size: size, (True, "1", [1]), "`true`, texts")
JSON = Kind(
    " of JSON text, in bytes",
    lambda value: True,
    lambda value: len(json.dumps(value)),
    lambda size: "x" * (size - len(json.dumps(""))),
    (),
    "NaN, infinities, half surrogates",
)
BODY = replace(PROSE, is_one=lambda value: type(value) is str, wrong=("", 5, True, ["a"]), refused="")
OBJECT = replace(JSON, sized=lambda size: {"p": "x" * (size - len(json.dumps({"p": ""})))})


@dataclass(frozen=True)
class Bound:
    """One line of the table. `fields` are parameters, by name, or as METHOD.NAME where a method has another bound."""

    fields: str
    kind: Kind
    low: float
    high: float
    row: str  # is broken by a bus that takes more, or less
    code: str = "INVALID_ARGUMENT"
    least: float = math.inf  # the low, unless it says lower
    most: float = -math.inf  # the high, unless it says higher
    refuses: str = ""  # what the reference refuses of that which is free: below, above
    cap: str = ""  # the row of the high, where a bus may choose to have none
    row_of_true: str = ""  # in place of a number, if that is another sentence
    limits: tuple[tuple[str, str], ...] = ()  # names in `hello` of the high and of the low, with their meanings

    def takes(self, value: Any) -> bool:
        """Does every bus take it?"""
        return self.kind.is_one(value) and self.low <= self.kind.size(value) <= self.high

    def may_take(self, value: Any) -> bool:
        """Does it lie within the bound, or where a bus is free?"""
        return self.kind.is_one(value) and self._least <= self.kind.size(value) <= self._most

    def side(self, value: Any) -> str:
        """Where a value of the kind lies beside the bound; empty if it is within."""
        size = self.kind.size(value)
        return f"below {number(self.low)}" if size < self.low else f"above {number(self.high)}" * (size > self.high)

    def row_for(self, value: Any) -> str:
        """The row of a refusal of this value."""
        return (self.row_of_true if type(value) is bool else "") or self.row

    def at(self, size: float | None = None, *, plus: int = 0) -> Any:
        """A value of the highest size, or of this one, and so much more."""
        return self.kind.sized((self.high if size is None else size) + plus)

    @property
    def taken(self) -> tuple[Any, ...]:
        """The smallest and the largest."""
        return tuple(self.at(end) for end in (self.low, self.high) if math.isfinite(end))

    @property
    def free(self) -> tuple[Any, ...]:
        """The first beyond the bound, where it is free."""
        below = [self.at(self.low, plus=-1)] if self._least < self.low else []
        return (*below, *([self.at(plus=1)] if self._most > self.high else ()))

    @property
    def refused(self) -> tuple[Any, ...]:
        """The first that is too small, the first that is too large, and what is of another kind."""
        ends = ((self._least, -1), (self._most, 1))
        return (*(self.at(end, plus=step) for end, step in ends if math.isfinite(end + step)), *self.kind.wrong)

    @property
    def _least(self) -> float:
        return min(self.least, self.low)

    @property
    def _most(self) -> float:
        return max(self.most, self.high)

    def __str__(self) -> str:
        least = f"{number(self.low)} to" if math.isfinite(self.low) else "up to"
        return f"{least} {number(self.high)}{self.kind.unit}"

    def told(self) -> str:
        """As a line of a table: the fields, what is taken, refused, free."""
        named = ", ".join(f"`{field}`" for field in self.fields.split())
        ends = ((self._least, self.low, "below"), (self._most, self.high, "above"))
        beyond = [f"{word} {number(end)}" for end, _, word in ends if math.isfinite(end)]
        free = [f"{word} {number(bound)}" for end, bound, word in ends if end != bound]
        code = f" ({self.code})" * (self.code != "INVALID_ARGUMENT")
        refused = "; ".join(filter(None, (", ".join(beyond) + code, self.kind.refused)))
        return f"| {named} | {self} | {refused} | {', '.join(free)} |"


def limits(bounds: Iterable[Bound]) -> dict[str, str]:
    """The names and meanings of those limits in `hello` that are ends of a bound."""
    return {name: meaning for bound in bounds for name, meaning in bound.limits}


def number(value: float) -> str:
    """A number for a reader: powers of two, and those beside one, as such."""
    if not isinstance(value, int):
        return f"{value:,}"
    for plus, more in ((0, ""), (1, " - 1")):
        if (power := abs(value + plus)) >= 2**31 and power.bit_count() == 1:
            return f"{'-' * (value < 0)}2^{power.bit_length() - 1}{more}"
    return f"{value // MIB} MiB" if value and value % MIB == 0 else f"{value:,}"


def table(bounds: Iterable[Bound]) -> Iterator[str]:
    """The table of a specification."""
    yield from ("| field | taken | refused | free |", "|---|---|---|---|")
    yield from (bound.told() for bound in bounds)
