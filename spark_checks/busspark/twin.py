"""The Python engine: the checks of `busproof.oracle.checks` on compact streams, one run after the other.

A small run is judged in memory. In a large one the checks are shown only the rows that can matter (`narrow`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow.parquet as pq

from busproof.oracle.checks import Facts, Verdict, judge_facts
from busproof.oracle.checks.facts import FACTS
from busproof.systems import SYSTEMS
from busspark.compact import runs_of, systems_of
from busspark.narrow.judge import can_judge
from busspark.narrow.judge import judge as narrow

EVENTS_IN_MEMORY = 200_000
Run = tuple[str, str]  # system, run


def judge(folder: Path) -> Iterator[tuple[Run, list[Verdict]]]:
    """Integrity and all checks, run by run."""
    for system in systems_of(folder):
        checks = SYSTEMS[system].checks
        for run, about in runs_of(folder, system).items():
            if about.damage or about.lines < EVENTS_IN_MEMORY or not can_judge(checks.values()):
                yield (system, run), judge_facts(facts_of(folder, system, run), checks)
            else:
                yield (system, run), narrow(folder / system, run, about, checks)


def facts_of(folder: Path, system: str, run: str) -> Facts:
    """All facts of one run, in memory."""
    facts = Facts(about=[])
    for name, fact in FACTS.items():
        names = [field.name for field in msgspec.structs.fields(fact)]
        table = pq.read_table(folder / system / name, columns=names, filters=[("run", "=", run)])
        for batch in table.to_batches():
            getattr(facts, name).extend(map(fact, *(column.to_pylist() for column in batch.columns)))
    return facts
