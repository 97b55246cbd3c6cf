"""A check that never failed is not a check: each chaos row of the catalogue is failed by a mutant."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from buschaos.faults import PLANS, acts_of, by_row, is_found, outcomes, planted, play
from buschaos.subjects import SUBJECTS
from busproof.contract.catalogue import catalogue
from busproof.faults.record import Fault, faults

MUTANTS = planted()
HARMLESS = {"topics": "topics_again"}
# A minute each: a pass of relay has 400 changes, errors meet every change of every operation, and a schedule of topics
# starts two servers. Or another test has the same fault at one place.
DEAR = {
    "worker/believes_a_second_sync",
    "relay/a_copy_has_two_names",
    "relay/believes_a_recorded_pid",
    "relay/crossed_out_first",
    "relay/drops_what_finds_no_room",
    "relay/goes_before_it_is_known",
    "relay/looks_at_the_database_alone",
    "relay/never_finishes_what_it_began",
    "relay/removes_its_lock_first",
    "relay/starts_another",
    "timeline/looks_at_the_database_alone",
    "topics/looks_at_the_database_alone",
    "topics/the_old_session_sends_on",
}

# The acts that other files play on the reference by day.
PLAYED: dict[str, Iterable[str]] = {
    **dict.fromkeys(("kills", "points", "disk_full", "waits", "ways"), SUBJECTS),
    "power": ("comms", "relay", "timeline", "worker"),
    "holds": ("comms", "worker"),
    "damage": ("worker",),
}


def cheap_to_dear() -> list[Any]:
    """Enough of them that each row has one; the others, and the dear ones, are left to the nightly run."""
    decided: set[str] = set()
    params = []
    for mutant in MUTANTS:
        is_needed = bool(set(mutant.rows) - decided) and f"{mutant.system}/{mutant.name}" not in DEAR
        marks = () if is_needed else (pytest.mark.nightly,)
        decided |= set(mutant.rows) if is_needed else set()
        params.append(pytest.param(mutant, id=f"{mutant.system}-{mutant.name}", marks=marks))
    return params


def each_run_once() -> list[Any]:
    """The runs by which mutants are found. By day: one of each act and system that PLAYED has not."""
    runs: dict[tuple[str, str], list[Fault]] = {}
    by_day: dict[tuple[str, *tuple[str, ...]], tuple[str, str]] = {}
    for param in cheap_to_dear():
        (mutant,) = param.values
        run = mutant.system, repr(mutant.chaos)
        runs.setdefault(run, []).append(mutant)
        if not param.marks and not any(mutant.system in PLAYED.get(key, ()) for key in mutant.chaos):
            by_day.setdefault((mutant.system, *acts_of(mutant)), run)
    return [
        pytest.param(
            mutants, id=f"{run[0]}-{mutants[0].name}", marks=() if run in by_day.values() else pytest.mark.nightly
        )
        for run, mutants in runs.items()
    ]


def test_every_chaos_row_has_a_mutant() -> None:
    """No row is believed that was never seen failing; and each mutant that chaos kills says how."""
    rows = [row.id for system in SUBJECTS for row in catalogue(system).values() if row.kind == "chaos"]
    killed = {row for mutant in MUTANTS for row in mutant.rows}
    assert killed == set(rows)
    # A mutant that names an item is killed by that: two calls at once from the corpus break a row of schedules, too.
    others = [m for system in SUBJECTS for m in faults(system).values() if not (m.chaos or m.item)]
    assert [mutant.name for mutant in others if set(mutant.rows) & set(rows)] == []


def test_every_act_has_faults_that_it_must_find() -> None:
    """No empty row in the matrix, and 60 faults at least."""
    by_act = Counter(act for mutant in MUTANTS for act in acts_of(mutant))
    assert (
        min(by_act[act] for act in ("random kills", "kill points", "power loss", "holds", "full disk and errors")) > 2
    )
    assert all(acts_of(mutant) for mutant in MUTANTS)
    assert len(MUTANTS) >= 60


@pytest.mark.parametrize("mutant", cheap_to_dear())
def test_the_mutant_fails_its_rows(tmp_path: Path, mutant: Fault) -> None:
    """Under the first of a few plans that strikes the fault."""
    for seed in range(1, PLANS + 1):
        out = tmp_path / f"faulty-{seed}"
        outcome_of = outcomes(mutant.spec(), out, mutant.system, mutant.chaos, seed, until=mutant.rows)
        if is_found(mutant, outcome_of) or "kills" not in mutant.chaos:
            break
    assert is_found(mutant, outcome_of), outcome_of


@pytest.mark.parametrize("mutants", each_run_once())
def test_a_harmless_bus_passes_the_same_run(
    tmp_path: Path, harmless: Callable[[str], str], mutants: list[Fault]
) -> None:
    """It is started as mutants are, and has no fault: so the mutants fail by their faults alone."""
    takes_no_ids = str(mutants[0].chaos.get("only")).endswith(", once")
    bus = harmless("comms_sends_once" if takes_no_ids else HARMLESS.get(mutants[0].system, "refbus_again"))
    good = outcomes(bus, tmp_path, mutants[0].system, mutants[0].chaos, 1)
    rows = {row for mutant in mutants for row in mutant.rows}
    assert {row: good[row] for row in rows} == dict.fromkeys(rows, "pass")


def test_a_fault_of_one_noun_leaves_the_rows_of_others_alone(tmp_path: Path, faulty: Callable[[str], str]) -> None:
    """A torn blob is no torn export; but the log answers for all."""
    how = {"points": True, "only": ("save_blob", "export_to_jsonl")}
    outcome_of = outcomes(faulty("worker/writes_blobs_in_place"), tmp_path, "worker", how)
    assert outcome_of == {"worker.log.03": "fail", "worker.blob.16": "fail", "worker.export.12": "pass"}


def test_the_same_seed_finds_the_same_at_the_same_points(tmp_path: Path) -> None:
    """Twice, of a fault that one point shows; ids and sizes, which a bus draws anew, aside."""
    fault = faults("worker")["redrives_in_two_steps"]
    runs = [play(fault.spec(), tmp_path / name, "worker", fault.chaos) for name in ("once", "again")]
    once, again = (
        [
            (act.name, problem.noun, re.sub(r"[0-9a-f]{8,}|\d+ bytes", "*", problem.point))
            for act in run.acts
            for problem, _ in act.problems
        ]
        for run in runs
    )
    assert once
    assert set(once) == set(again)
    assert by_row(runs[0], "worker") == by_row(runs[1], "worker")
