"""The edges of slices: small rows, stitched in order on the driver. Nothing here grows with the events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from types import SimpleNamespace

from busspark.known import ACKS, ORDER, READS, UNINVITED
from busspark.screen import rows as r
from busspark.screen.window import SLICED

Row = SimpleNamespace  # of window.screened
KEYS_MAX = 100_000  # suspect keys of a kind that are kept apart; if there are more, all keys are looked at


@dataclass
class Suspicion:
    """The suspicion against a run: bits, and the keys of those that can be looked at alone."""

    bits: int = 0
    keys: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))  # kind → keys

    def knows(self, *kinds: int) -> bool:
        """Are the keys of these kinds few enough to be looked at alone?"""
        return all(len(self.keys[kind]) <= KEYS_MAX for kind in kinds)

    def suspect(self, row: Row, bits: int) -> None:
        """Suspect this row's key, of these bits."""
        self.bits |= bits
        if bits and len(self.keys[row.k]) <= KEYS_MAX:
            self.keys[row.k].add(row.g)


def suspicions(rows: Iterable[Row], *, is_dense: bool) -> dict[int, Suspicion]:
    """The suspicion against each run, by its hash."""
    of_run: dict[int, list[Row]] = defaultdict(list)
    by_run: dict[int, Suspicion] = defaultdict(Suspicion)
    sums: dict[tuple[int, int], int] = defaultdict(int)  # run, suspicion → the sum that is missing
    newest: dict[int, int] = defaultdict(int)  # run → the largest seq that stands
    readers: dict[tuple[int, int], list[Row]] = defaultdict(list)  # run, reader
    uninvited: list[Row] = []
    nameless: dict[tuple[int, int], int] = defaultdict(int)  # run, lane → attempts that may explain a row
    lanes: dict[tuple[int, int], list[Row]] = defaultdict(list)  # run, lane
    for row in rows:
        if row.k == r.NAMELESS:
            nameless[row.r, row.s] += row.n
        elif row.k == r.SUM:
            sums[row.r, row.s] += row.w or 0
            newest[row.r] = max(row.v or 0, newest[row.r])
        elif row.k == r.READER:
            readers[row.r, row.g].append(row)
        elif row.k == r.LANE:
            lanes[row.r, row.g].append(row)
        elif row.bits & UNINVITED:
            uninvited.append(row)
        elif row.k in SLICED:
            of_run[row.r].append(row)
        by_run[row.r].suspect(row, row.bits & ~UNINVITED)
    for row in uninvited:
        nameless[row.r, row.s] -= 1
        by_run[row.r].suspect(row, UNINVITED if nameless[row.r, row.s] < 0 else 0)
    for run, slices in of_run.items():
        by_run[run].bits |= _gaps(slices) if is_dense else 0
        sums[run, READS] += _covered(slices)
        newest[run] = max([newest[run], *(slice_.v for slice_ in slices if slice_.k == r.SEQ and slice_.v is not None)])
    for (run, _), group in readers.items():
        by_run[run].bits |= _of_reader(group, newest[run])
    for (run, _), group in lanes.items():
        by_run[run].bits |= READS if _most(group, "u") > _most(group, "v") else 0
    for (run, what), missing in sums.items():
        by_run[run].bits |= what if missing % 2**64 else 0
    return by_run


def _place(row: Row) -> tuple[int, int, int]:
    """The order of slices: a log is walked from its end."""
    return row.k, row.g, -row.s


def _of_kind(kind: int, slices: Iterable[Row]) -> Iterator[list[Row]]:
    """The slices of each key, in their order."""
    ours = (row for row in sorted(slices, key=_place) if row.k == kind)
    return (list(of_key) for _, of_key in groupby(ours, key=lambda row: row.g))


def _gaps(slices: list[Row]) -> int:
    """Each slice of a dense log ends where the one above it begins, and the last one begins with 1."""
    for of_log in _of_kind(r.SEQ, slices):
        stands = [slice_ for slice_ in of_log if slice_.h is not None]
        if stands and [slice_.h0 for slice_ in stands] != [slice_.h + 1 for slice_ in stands[1:]] + [1]:
            return ORDER
    return 0


def _covered(slices: list[Row]) -> int:
    """The hashes of all that the reads of a run covered, each as often as it was covered."""
    covered = 0
    for of_view in _of_kind(r.VIEW, slices):
        reads = 0  # those that have begun to cover above this slice and go on
        for slice_ in of_view:
            covered += (slice_.w or 0) + (slice_.hs or 0) * reads
            reads += slice_.n or 0
    return covered


def _of_reader(rows: list[Row], newest: int) -> int:
    """Judge a reader's acknowledgements, the answers to them, and its place in the end."""
    acked, asked, stands = _most(rows, "n"), _most(rows, "u"), _most(rows, "h")
    if acked > newest or stands < acked or (stands > asked and not _most(rows, "f")):
        return ACKS
    return 0


def _most(rows: Iterable[Row], name: str) -> int:
    return max([getattr(row, name) or 0 for row in rows], default=0)
