"""The Python engine: the checks of `busproof.oracle.checks` on compact streams, one run after the other.

A small run is judged in memory. In a large one the checks are shown only the rows that can matter (`narrow`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import msgspec
import pyarrow.parquet as pq

from busproof.oracle.checks import Facts, Verdict, judge_facts
from busproof.oracle.checks.facts import FACTS
from busproof.systems import SYSTEMS
from busspark.compact import Run, runs_of, systems_of
from busspark.narrow.judge import can_judge
from busspark.narrow.judge import judge as narrow

EVENTS_IN_MEMORY = 200_000


def judge(folder: Path) -> Iterator[tuple[Run, list[Verdict]]]:
    """Integrity and all checks, run by run."""
    for system in systems_of(folder):
        checks = SYSTEMS[system].checks
        runs = runs_of(folder, system)
        large = [
            run
            for run, about in runs.items()
            if not about.damage and about.lines >= EVENTS_IN_MEMORY and can_judge(checks.values())
        ]
        for run in large:
            yield (system, run), narrow(folder / system, run, runs[run], checks)
        for some in _together({run: about.lines for run, about in runs.items() if run not in large}):
            for run, facts in facts_of(folder, system, some).items():
                yield (system, run), judge_facts(facts, checks)


def _together(lines_of: dict[str, int]) -> Iterator[list[str]]:
    """The runs in groups of as many events as are held in memory: a group costs one pass over the streams."""
    some: list[str] = []
    held = 0
    for run, lines in lines_of.items():
        if some and held + lines > EVENTS_IN_MEMORY:
            yield some
            some, held = [], 0
        some.append(run)
        held += lines
    if some:
        yield some


def facts_of(folder: Path, system: str, runs: Sequence[str]) -> dict[str, Facts]:
    """All facts of these runs, in memory."""
    by_run = {run: Facts(about=[]) for run in runs}
    for name, fact in FACTS.items():
        names = ["run", *(field.name for field in msgspec.structs.fields(fact))]
        table = pq.read_table(folder / system / name, columns=names, filters=[("run", "in", runs)])
        for batch in table.to_batches():
            rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
            for run, of_run in groupby(rows, itemgetter(0)):
                getattr(by_run[run], name).extend(fact(*row[1:]) for row in of_run)
    return by_run
