"""What one slice hands to the next: small rows, stitched in order on the driver. Nothing here grows with the events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from busspark.screen import rows as r
from busspark.screen.window import ACKS, ORDER, READS, SLICED, UNINVITED

Row = Any  # of window.screened
KEYS_MAX = 100_000  # suspect keys of a kind that are kept apart; if there are more, all keys are looked at


@dataclass
class Suspicion:
    """What of a run is suspect: bits, and the keys of those that can be looked at alone."""

    bits: int = 0
    keys: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))  # kind → keys

    def suspect(self, row: Row, bits: int) -> None:
        """This row's key, of these bits."""
        self.bits |= bits
        if bits and len(self.keys[row.k]) <= KEYS_MAX:
            self.keys[row.k].add(row.g)


def suspicions(rows: Iterable[Row], *, is_dense: bool) -> dict[str, Suspicion]:
    """By run."""
    of_run: dict[str, list[Row]] = defaultdict(list)
    found: dict[str, Suspicion] = defaultdict(Suspicion)
    maybe: dict[str, list[Row]] = defaultdict(list)
    nameless = set()
    for row in rows:
        if row.k == r.NAMELESS:
            nameless.add((row.run, row.s))
        elif row.bits & UNINVITED:
            maybe[row.run].append(row)
        elif row.k in SLICED:
            of_run[row.run].append(row)
        found[row.run].suspect(row, row.bits & ~UNINVITED)
    for run, uninvited in maybe.items():
        for row in uninvited:
            found[run].suspect(row, 0 if (run, row.s) in nameless else UNINVITED)
    for run, slices in of_run.items():
        found[run].bits |= _of_slices(slices, is_dense)
    return found


def _of_slices(rows: list[Row], is_dense: bool) -> int:
    found = 0
    newest = max([row.o for row in rows if row.k == r.SEQ], default=0)
    by_key = sorted(rows, key=lambda row: (row.k, row.g, row.s))
    for (kind, _), slices in groupby(by_key, key=lambda row: (row.k, row.g)):
        of_key = list(slices)
        found |= _stitched(kind, of_key, is_dense)
        if kind == r.TIME:
            found |= _of_reader(of_key, newest)
    return found


def _stitched(kind: int, slices: list[Row], is_dense: bool) -> int:
    """A slice against all before it: the largest so far, and the last row of the log."""
    found, most, last = 0, None, 0 if is_dense and kind == r.SEQ else None
    for one in slices:
        if most is not None and one.b is not None and (most > one.b if kind == r.SEQ else most >= one.b):
            found |= {r.SEQ: ORDER, r.TIME: ACKS, r.NEWS: READS}[kind]
        if last is not None and one.p is not None and last > one.p:
            found |= READS
        if is_dense and kind == r.SEQ and one.lo_least is not None and one.lo_least != (last or 0) + 1:
            found |= ORDER
        most = one.a if most is None else max(most, one.a if one.a is not None else most)
        last = one.lo if one.lo is not None else last
    return found


def _of_reader(slices: list[Row], newest: int) -> int:
    """All that a reader acknowledged, was told, and stands at in the end."""

    def most(name: str) -> int:
        return max([getattr(one, name) or 0 for one in slices], default=0)

    told, asked, stands, answered = most("a"), most("u"), most("x"), most("v")
    jumped = any((one.f or 0) & r.JUMPED for one in slices)
    if answered > asked or told > newest or stands < told or (stands > asked and not jumped):
        return ACKS
    return 0
