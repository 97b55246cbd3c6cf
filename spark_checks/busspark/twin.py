"""The Python engine: the checks of `busproof.checks` on compact streams, one run after the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow.parquet as pq

from busproof.checks import Facts, Verdict, judge_facts
from busproof.checks.facts import FACTS
from busproof.systems import SYSTEMS
from busspark.compact import runs_of, systems_of

Run = tuple[str, str]  # system, run


def judge(folder: Path) -> Iterator[tuple[Run, list[Verdict]]]:
    """Integrity and all checks, run by run."""
    for system in systems_of(folder):
        for run in runs_of(folder, system):
            yield (system, run), judge_facts(facts_of(folder, system, run), SYSTEMS[system].checks)


def facts_of(folder: Path, system: str, run: str) -> Facts:
    """All facts of one run, in memory."""
    facts = Facts(about=[])
    for name, fact in FACTS.items():
        names = [field.name for field in msgspec.structs.fields(fact)]
        table = pq.read_table(folder / system / name, columns=names, filters=[("run", "=", run)])
        for batch in table.to_batches():
            getattr(facts, name).extend(map(fact, *(column.to_pylist() for column in batch.columns)))
    return facts
