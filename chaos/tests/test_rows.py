"""A check that never failed is not a check: each chaos row of the catalogue is failed by a mutant."""

from __future__ import annotations

import ast
import errno
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from buschaos import report
from buschaos.crashpoints import in_the_middle
from buschaos.gone import CASES
from buschaos.run import Settings, run
from buschaos.subjects import SUBJECTS
from busproof.catalogue import catalogue
from busproof.mutant import Mutant, mutants
from busproof.runner import Outcome

MUTANTS = [mutant for system in SUBJECTS for mutant in mutants(system).values() if mutant.chaos]


def cheap_to_dear() -> list[Any]:
    """Enough of them that each row has one; the others are left to the nightly run."""
    decided: set[str] = set()
    params = []
    for mutant in MUTANTS:
        marks = () if set(mutant.killed_by) - decided else (pytest.mark.nightly,)
        decided |= set(mutant.killed_by)
        params.append(pytest.param(mutant, id=f"{mutant.system}-{mutant.name}", marks=marks))
    return params


@cache
def of_a_harmless_bus(bus: str, system: str, how: str) -> dict[str, Outcome]:
    """The same run of a bus without a fault, once for all mutants that share it."""
    with tempfile.TemporaryDirectory(prefix="busproof-harmless-") as folder:
        return outcomes(bus, Path(folder), system, ast.literal_eval(how))


def outcomes(bus: str, out: Path, system: str, how: dict[str, Any]) -> dict[str, Outcome]:
    """Row → outcome of as much of a run as CHAOS of a mutant tells: the fields of `Settings`, in plain words."""
    only, ways = how.get("only"), how.get("ways", ())
    only = (only,) if isinstance(only, str) else only
    fields = {
        **{name: value for name, value in how.items() if name not in ("only", "ways", "errors")},
        "operations": only and tuple(op for op in SUBJECTS[system].operations if op.name in only),
        "errors": tuple(getattr(errno, name) for name in how.get("errors", ("ENOSPC",))),
    }
    if ways:
        # A sync with news that advances by itself: whatever it lost or doubled shows.
        fields["cases"] = tuple(case for case in CASES if case.auto_advance and not case.waits and case.way in ways)
        fields["gone"] = True
    settings = Settings(specs=[bus], out=out, system=system, seed=1, torn=in_the_middle, **fields)
    return {row.requirement: row.outcome for row in report.rows(run(settings), system)}


def test_every_chaos_row_has_a_mutant() -> None:
    """None is believed that was never seen failing; and what chaos kills says how."""
    rows = [row.id for system in SUBJECTS for row in catalogue(system).values() if row.kind == "chaos"]
    killed = {row for mutant in MUTANTS for row in mutant.killed_by}
    assert killed == set(rows)
    others = [mutant for system in SUBJECTS for mutant in mutants(system).values() if not mutant.chaos]
    assert [mutant.name for mutant in others if set(mutant.killed_by) & set(rows)] == []


@pytest.mark.parametrize("mutant", cheap_to_dear())
def test_the_mutant_fails_its_rows_and_a_harmless_bus_passes_them(
    tmp_path: Path, harmless: Callable[[str], str], mutant: Mutant
) -> None:
    """The same run of both."""
    rows = catalogue(mutant.system)
    found = outcomes(mutant.spec(), tmp_path / "faulty", mutant.system, mutant.chaos)
    bus = harmless("topics_again" if mutant.system == "topics" else "refbus_again")
    good = of_a_harmless_bus(bus, mutant.system, repr(mutant.chaos))
    for row in mutant.killed_by:
        assert found[row] == ("fail" if rows[row].level == "MUST" else "warn"), row
        assert good[row] == "pass", row


def test_a_fault_of_one_noun_leaves_the_rows_of_others_alone(tmp_path: Path, faulty: Callable[[str], str]) -> None:
    """A torn blob is no torn export; but the log answers for all."""
    how = {"points": True, "only": "save_blob"}
    found = outcomes(faulty("worker/writes_blobs_in_place"), tmp_path, "worker", how)
    assert found == {"worker.log.03": "fail", "worker.blob.16": "fail", "worker.export.12": "pass"}
