"""Faults that chaos is to find: as much of a run as a declaration's `chaos` says, and whether its rows failed."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from buschaos import report
from buschaos.crashpoints import in_the_middle
from buschaos.gone import CASES
from buschaos.limits import Enough, Progress
from buschaos.run import SHORT, Run, Settings, run
from buschaos.state import Problem
from buschaos.subjects import SUBJECTS
from busproof.contract.catalogue import catalogue
from busproof.faults.record import Fault, faults
from busproof.run.result import Outcome

_ACTS = {
    "kills": "random kills",
    "points": "kill points",
    "power": "power loss",
    "holds": "holds",
    "waits": "waits",
    "disk_full": "full disk and errors",
    "damage": "damage",
    "ways": "gone callers",
}


def planted() -> list[Fault]:
    """All faults that chaos is to find."""
    return [fault for system in SUBJECTS for fault in faults(system).values() if fault.chaos]


class AllFail(Progress):
    """Ends a run when each of these rows has failed: the rest would say nothing new of a fault."""

    def __init__(self, rows: Iterable[str], system: str) -> None:
        super().__init__()
        self._left = [catalogue(system)[row] for row in rows]
        self._nouns = report.nouns_by_act(system)

    def found(self, problem: Problem, act: str) -> None:
        """Raises Enough at the last of them."""
        self._left = [r for r in self._left if r.check != act or not report.is_against(problem, r, self._nouns[act])]
        if not self._left:
            raise Enough("all rows that were to fail have failed")


def outcomes(
    bus: str, out: Path, system: str, how: dict[str, Any], seed: int = 1, until: Iterable[str] = ()
) -> dict[str, Outcome]:
    """Row → outcome of as much of a run as a declaration's `chaos` says, or less, if all of `until` have failed."""
    return by_row(play(bus, out, system, how, seed, AllFail(until, system) if until else None), system)


def by_row(played: Run, system: str) -> dict[str, Outcome]:
    """Row → outcome."""
    return {row.requirement: row.outcome for row in report.rows(played, system)}


def play(bus: str, out: Path, system: str, how: dict[str, Any], seed: int = 1, progress: Progress | None = None) -> Run:
    """Play as much of a run as a declaration's `chaos` says: the fields of `Settings`, in plain words."""
    only, ways = how.get("only"), how.get("ways", ())
    only = (only,) if isinstance(only, str) else only
    fields = {
        "twice": 0,
        "crossed": 0,
        "deaths": 0,
        **{name: value for name, value in how.items() if name not in ("only", "ways", "errors")},
        "operations": only and tuple(op for op in SUBJECTS[system].repertoire.operations if op.name in only),
        "errors": tuple(getattr(errno, name) for name in how.get("errors", ("ENOSPC",)) if name != SHORT),
        "reads": "EIO" in how.get("errors", ()),
        "shorts": SHORT in how.get("errors", ()),
    }
    if ways:
        # A sync with news that advances by itself: every message that it lost or doubled shows.
        fields["cases"] = tuple(case for case in CASES if case.auto_advance and not case.waits and case.way in ways)
        fields["gone"] = True
    settings = Settings(specs=[bus], out=out, system=system, seed=seed, torn=in_the_middle, **fields)
    return run(settings, progress)


PLANS = 4  # of random kills, which find by luck: the first three may all miss the fault


def judged(fault: Fault) -> tuple[dict[str, str], list[str]]:
    """Rows that did not pass, under the first of a few plans that finds the fault; what is wrong, if none does."""
    for seed in range(1, PLANS + 1 if "kills" in fault.chaos else 2):
        with tempfile.TemporaryDirectory(prefix="busproof-faults-") as folder:
            ended = outcomes(fault.spec(), Path(folder), fault.system, fault.chaos, seed, until=fault.rows)
        killed: dict[str, str] = {row: outcome for row, outcome in ended.items() if outcome in ("fail", "warn")}
        if is_found(fault, ended):
            return killed, []
    return killed, [f"chaos did not find it: {', '.join(acts_of(fault))}"]


def is_found(fault: Fault, results: dict[str, Outcome]) -> bool:
    """Has every row that it names failed?"""
    rows = catalogue(fault.system)
    return all(results[row] == ("fail" if rows[row].level == "MUST" else "warn") for row in fault.rows)


def acts_of(fault: Fault) -> list[str]:
    """The acts that are to find it."""
    return [act for name, act in _ACTS.items() if name in fault.chaos]
