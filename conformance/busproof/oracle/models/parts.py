"""Parts of an answer that are compared in a way of their own: rows in any order, times, ranges."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from busproof.oracle.models.spec import Cited, Difference, Fits, Part, Told, differs, held, plain
from busproof.words import as_json

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TIMES_KEPT = 20_000  # as text and as a number: each look reads those of all rows again

# A value that a bus may take or refuse.
BIG_NUMBER = "a whole number beyond 64 bits"

ANYTHING = Fits("anything", lambda _: True)


def bare(value: Any) -> Any:
    """The value inside a cited, told or free value."""
    while isinstance(value, Cited | Told):
        value = value.value
    return plain(value)


def us_of(value: Any) -> int | None:
    """Epoch microseconds of an ISO 8601 time with its zone; None for anything else."""
    return _us_of_text(value) if type(value) is str else None


@lru_cache(TIMES_KEPT)
def _us_of_text(text: str) -> int | None:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if at.tzinfo is None else (at - _EPOCH) // timedelta(microseconds=1)


def has_big_number(value: Any) -> bool:
    """Does a whole number in it lie beyond a signed 64-bit one?"""
    if isinstance(value, dict | list):
        return any(map(has_big_number, value.values() if isinstance(value, dict) else value))
    return type(value) is int and not -(2**63) <= value < 2**63


_ISO_8601 = re.compile(
    r"(\d{4}-\d\d-\d\d|\d{4}-W\d\d-\d)T\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d(:\d\d)?)"
    r"|(\d{8}|\d{4}W\d{3})T\d{4}(\d\d([.,]\d+)?)?(Z|[+-]\d\d(\d\d)?)",
    re.ASCII,
)


def is_iso_8601(text: str) -> bool:
    """Is a time that Python reads in a form of the standard? It reads others, too: a blank for T or before Z."""
    return _ISO_8601.fullmatch(text) is not None


def nearly_iso_8601(text: str) -> list[str]:
    """The points in which a time that Python reads is only nearly one of the standard: each is a bus's own choice."""
    sound, forms = text, list[str]()
    for form, pattern, instead in (
        ("a blank for T", r"^(\S+) (?=\d)", r"\1T"),
        ("a blank before the zone", r" (?=\D)", ""),
    ):
        mended = re.sub(pattern, instead, sound)
        forms += [form] * (mended != sound)
        sound = mended
    return forms + ["another form that is nearly ISO 8601"] * (not is_iso_8601(sound))


@lru_cache(TIMES_KEPT)
def text_of(at_us: int) -> str:
    """ISO 8601 in UTC with microseconds and Z."""
    return (_EPOCH + timedelta(microseconds=at_us)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Instant(Fits):
    """A time, in any ISO 8601 form and to as many digits of its second as it tells; another row sets how many."""

    def __init__(self, at_us: int) -> None:
        def fits(seen: Any) -> bool:
            return us_of(seen) in (at_us, at_us - at_us % _digit_us(seen))

        super().__init__(f"the time {text_of(at_us)}", fits)


def _digit_us(text: Any) -> int:
    """The worth of the last digit of a time's second, in microseconds."""
    digits = re.search(r"[.,]([0-9]{1,6})", str(text))
    return 10 ** (6 - len(digits[1])) if digits else 1_000_000


class Stamp(Fits):
    """A time in UTC with microseconds and Z."""

    def __init__(self, at_us: int) -> None:
        super().__init__(f"the text {text_of(at_us)}", lambda seen: bool(seen == text_of(at_us)))


class Between(Fits):
    """A whole number in a range."""

    def __init__(self, low: int, high: int) -> None:
        super().__init__(f"{low} to {high}", lambda seen: type(seen) is int and low <= seen <= high)


class Near(Fits):
    """A number, except for the last digits of a double."""

    def __init__(self, number: float) -> None:
        def test(seen: Any) -> bool:
            return type(seen) in (int, float) and math.isclose(seen, number, rel_tol=1e-9, abs_tol=1e-12)

        super().__init__(f"about {number}", test)


class InAnyOrder(Fits):
    """A list of texts as a set, each once."""

    def __init__(self, members: list[str]) -> None:
        def test(seen: Any) -> bool:
            return isinstance(seen, list) and sorted(map(str, seen)) == sorted(members)

        super().__init__(f"{members} in any order", test)


class Whole(Fits):
    """An object with exactly these members."""

    def __init__(self, value: dict[str, Any]) -> None:
        super().__init__(f"exactly {value}", lambda seen: bool(seen == value))


class _Bare(Mapping[str, Any]):
    """An expected row as a key reads it: each value bare."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.row = row

    def __getitem__(self, name: str) -> Any:
        return bare(self.row[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.row)

    def __len__(self) -> int:
        return len(self.row)


class Rows(Part):
    """Rows of a table in any order. `key` finds a row's counterpart; if it is not known yet, the order does."""

    def __init__(self, key: Callable[[Any], Any], expected: list[dict[str, Any]], *, may_lack: bool = False) -> None:
        self.key, self.expected, self.may_lack = key, expected, may_lack

    def differs(self, actual: Any, path: str, rows: tuple[str, ...]) -> Difference | None:
        """Compare the lists of both, put into one order."""
        if self.may_lack and not actual:
            return None
        if not isinstance(actual, list) or not all(isinstance(row, dict) for row in actual):
            return Difference(path, "a list of rows", as_json(actual)[:200], rows)
        by_key: dict[Any, list[dict[str, Any]]] = {}
        for row in actual:
            by_key.setdefault(self.key(row), []).append(row)
        pairs, unmatched = [], []
        for row in self.expected:
            same = by_key.get(self.key(_Bare(row)))
            if same:
                pairs.append((row, same.pop(0)))
            else:
                unmatched.append(row)
        left = [row for rows_left in by_key.values() for row in rows_left]
        if len(unmatched) != len(left):
            words = (
                f"{len(self.expected)} rows, among them {self._short(unmatched)}",
                f"{len(actual)}, among them {self._short(left)}",
            )
            return Difference(path, *words, rows)
        pairs += list(zip(unmatched, left, strict=True))
        found_at = (differs(row, other, f"{path}[{other.get('id') or self.key(other)}]", rows) for row, other in pairs)
        return next((difference for difference in found_at if difference), None)

    def held(self, actual: Any, rows: set[str]) -> None:
        """Those of each row; which row is whose counterpart changes no citation."""
        for row, other in zip(self.expected, actual or (), strict=False):
            held(row, other, rows)

    def _short(self, some: list[dict[str, Any]]) -> str:
        """The keys before the rows themselves, because the text is cut."""
        keys = [self.key(_Bare(row)) for row in some]
        return f"{as_json(keys):.300}: {as_json(some):.300}"

    def __repr__(self) -> str:
        return f"<in any order {as_json(self.expected)}>"
