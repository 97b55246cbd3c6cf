"""What one slice hands to the next: small rows, stitched in order on the driver. Nothing here grows with the events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from types import SimpleNamespace

from busspark.screen import rows as r
from busspark.screen.rows import ACKS, ORDER, READS, UNINVITED
from busspark.screen.window import SLICED

Row = SimpleNamespace  # of window.screened
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


def suspicions(rows: Iterable[Row], *, is_dense: bool) -> dict[int, Suspicion]:
    """By the hash of the run."""
    of_run: dict[int, list[Row]] = defaultdict(list)
    found: dict[int, Suspicion] = defaultdict(Suspicion)
    sums: dict[tuple[int, int], int] = defaultdict(int)  # run, what → how much there is too little of it
    newest: dict[int, int] = defaultdict(int)  # run → the largest seq that stands
    uninvited: list[Row] = []
    nameless = set()
    for row in rows:
        if row.k == r.NAMELESS:
            nameless.add((row.r, row.s))
        elif row.k == r.SUM:
            sums[row.r, row.s] += row.w or 0
            newest[row.r] = max(row.v or 0, newest[row.r])
        elif row.bits & UNINVITED:
            uninvited.append(row)
        elif row.k in SLICED:
            of_run[row.r].append(row)
        found[row.r].suspect(row, row.bits & ~UNINVITED)
    for row in uninvited:
        found[row.r].suspect(row, 0 if (row.r, row.s) in nameless else UNINVITED)
    for run, slices in of_run.items():
        found[run].bits |= _of_slices(slices, newest[run], is_dense)
        sums[run, READS] += _covered(slices)
    for (run, what), missing in sums.items():
        found[run].bits |= what if missing % 2**64 else 0
    return found


def _of_slices(rows: list[Row], newest: int, is_dense: bool) -> int:
    found = 0
    newest = max([newest, *(row.v for row in rows if row.k == r.SEQ and row.v is not None)])
    for (kind, _), slices in groupby(sorted(rows, key=_place), key=lambda row: (row.k, row.g)):
        of_key = list(slices)
        found |= _stitched(kind, of_key)
        if kind == r.SEQ and is_dense:
            found |= _gaps(of_key)
        if kind == r.TIME:
            found |= _of_reader(of_key, newest)
    return found


def _place(row: Row) -> tuple[int, int, int]:
    """Time goes forward, a log is walked from its end."""
    return row.k, row.g, row.s if row.k == r.TIME else -row.s


def _stitched(kind: int, slices: list[Row]) -> int:
    """A slice against the least of all before it."""
    found, least = 0, None
    for one in slices:
        if least is not None and one.b is not None and one.b > least:
            found |= {r.SEQ: ORDER, r.TIME: ACKS, r.VIEW: READS}[kind]
        if one.e is not None:
            least = one.e if least is None else min(least, one.e)
    return found


def _gaps(slices: list[Row]) -> int:
    """Each slice of a dense log ends where the one above it begins, and the last one begins with 1."""
    stands = [one for one in slices if one.h is not None]
    firsts = [one.h0 for one in stands]
    ends = [one.h + 1 for one in stands[1:]] + [1]
    return ORDER if stands and firsts != ends else 0


def _covered(slices: list[Row]) -> int:
    """The hashes of what the reads of a run covered, each as often as it was covered."""
    found = 0
    views = (row for row in sorted(slices, key=_place) if row.k == r.VIEW)
    for _, of_view in groupby(views, key=lambda row: row.g):
        reads = 0  # that have begun to cover above this slice and go on
        for one in of_view:
            found += (one.w or 0) + (one.hs or 0) * reads
            reads += one.n or 0
    return found


def _of_reader(slices: list[Row], newest: int) -> int:
    """All that a reader acknowledged, was told, and stands at in the end."""

    def most(name: str) -> int:
        return max([getattr(one, name) or 0 for one in slices], default=0)

    told, asked, stands, answered = -min([one.e or 0 for one in slices], default=0), most("u"), most("h"), most("v")
    jumped = any((one.f or 0) & r.JUMPED for one in slices)
    if answered > asked or told > newest or stands < told or (stands > asked and not jumped):
        return ACKS
    return 0
