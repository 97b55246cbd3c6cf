"""Checks that look at keys, or at lanes, one by one: a run in parts, no key in two of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from busproof.oracle.checks import Facts
from busspark.narrow.database import Database

ROWS_OF_A_PART = 100_000


def parts(db: Database, by: Mapping[str, str]) -> Iterator[Facts]:
    """The facts of these streams in parts; `by` has for each stream the column that says which part a row is of."""
    largest = max(map(db.count, by))
    count = 1 + largest // ROWS_OF_A_PART
    for stream, key in by.items():
        db.make(f"parts_of_{stream}", f"SELECT *, hash({key}) % {count} AS part FROM {stream} ORDER BY part")
    for part in range(count):
        facts = Facts(about=[db.about])
        for stream in by:
            getattr(facts, stream).extend(db.facts(stream, f"SELECT * FROM parts_of_{stream} WHERE part = {part}"))
        yield facts
