"""A check that never failed is not a check: each chaos row of the catalogue is failed by a mutant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from buschaos import repeats
from buschaos.matrix import acts_of, is_found, known, outcomes, page, planted
from buschaos.subjects import SUBJECTS
from busproof.contract.catalogue import catalogue
from busproof.mutant import Mutant, mutants

MUTANTS = planted()
HARMLESS = {"topics": "topics_again"}
# A minute each: a pass of relay has 400 changes, errors meet every change of every operation, and a schedule of topics
# starts two servers. Or another test has the same fault at one place.
PLANS = 4  # of random kills, which find by luck: the first three may all miss the fault
DEAR = {
    "worker/believes_a_second_sync",
    "relay/a_copy_has_two_names",
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


def cheap_to_dear() -> list[Any]:
    """Enough of them that each row has one; the others, and the dear ones, are left to the nightly run."""
    decided: set[str] = set()
    params = []
    for mutant in MUTANTS:
        is_needed = bool(set(mutant.killed_by) - decided) and f"{mutant.system}/{mutant.name}" not in DEAR
        marks = () if is_needed else (pytest.mark.nightly,)
        decided |= set(mutant.killed_by) if is_needed else set()
        params.append(pytest.param(mutant, id=f"{mutant.system}-{mutant.name}", marks=marks))
    return params


def each_run_once() -> list[Any]:
    """The runs by which mutants are found. Those that the reference plays itself, in another file, are nightly.

    It plays some of the points of `relay` by day: there a run takes half a minute.
    """
    runs: dict[tuple[str, str], list[Mutant]] = {}
    marks: dict[tuple[str, str], set[Any]] = {}
    for param in cheap_to_dear():
        (mutant,) = param.values
        is_played = {"kills", "points", "disk_full"} & mutant.chaos.keys()
        run = mutant.system, repr(mutant.chaos)
        runs.setdefault(run, []).append(mutant)
        marks.setdefault(run, set()).add(bool(param.marks or is_played))
    return [
        pytest.param(mutants, id=f"{run[0]}-{mutants[0].name}", marks=pytest.mark.nightly if all(marks[run]) else ())
        for run, mutants in runs.items()
    ]


def test_every_chaos_row_has_a_mutant() -> None:
    """No row is believed that was never seen failing; and each mutant that chaos kills says how."""
    rows = [row.id for system in SUBJECTS for row in catalogue(system).values() if row.kind == "chaos"]
    killed = {row for mutant in MUTANTS for row in mutant.killed_by}
    assert killed == set(rows)
    # A mutant that names an item is killed by that: two calls at once from the corpus break a row of schedules, too.
    others = [m for system in SUBJECTS for m in mutants(system).values() if not (m.chaos or m.item)]
    assert [mutant.name for mutant in others if set(mutant.killed_by) & set(rows)] == []


def test_every_act_has_faults_that_it_must_find() -> None:
    """No empty row in the matrix, and 60 faults at least."""
    by_act = Counter(act for mutant in MUTANTS for act in acts_of(mutant))
    assert (
        min(by_act[act] for act in ("random kills", "kill points", "power loss", "holds", "full disk and errors")) > 2
    )
    assert all(acts_of(mutant) for mutant in MUTANTS)
    assert len(MUTANTS) >= 60


@pytest.mark.parametrize("mutant", cheap_to_dear())
def test_the_mutant_fails_its_rows(tmp_path: Path, mutant: Mutant) -> None:
    """Under the first of a few plans that strikes the fault."""
    for seed in range(1, PLANS + 1):
        out = tmp_path / f"faulty-{seed}"
        found = outcomes(mutant.spec(), out, mutant.system, mutant.chaos, seed, until=mutant.killed_by)
        if is_found(mutant, found) or "kills" not in mutant.chaos:
            break
    assert is_found(mutant, found), found


@pytest.mark.parametrize("mutants", each_run_once())
def test_a_harmless_bus_passes_the_same_run(
    tmp_path: Path, harmless: Callable[[str], str], mutants: list[Mutant]
) -> None:
    """It is started as mutants are, and has no fault: so the mutants fail by their faults alone."""
    takes_no_ids = str(mutants[0].chaos.get("only")).endswith(", once")
    bus = harmless("comms_sends_once" if takes_no_ids else HARMLESS.get(mutants[0].system, "refbus_again"))
    good = outcomes(bus, tmp_path, mutants[0].system, mutants[0].chaos, 1)
    rows = {row for mutant in mutants for row in mutant.killed_by}
    assert {row: good[row] for row in rows} == dict.fromkeys(rows, "pass")


def test_a_fault_of_one_noun_leaves_the_rows_of_others_alone(tmp_path: Path, faulty: Callable[[str], str]) -> None:
    """A torn blob is no torn export; but the log answers for all."""
    how = {"points": True, "only": ("save_blob", "export_to_jsonl")}
    found = outcomes(faulty("worker/writes_blobs_in_place"), tmp_path, "worker", how)
    assert found == {"worker.log.03": "fail", "worker.blob.16": "fail", "worker.export.12": "pass"}


def test_a_page_of_the_matrix_is_read_as_it_was_written() -> None:
    """So a part of it can be played anew: faults found, faults missed, and the seconds of each."""
    mutant, other = MUTANTS[:2]
    found = {(mutant.system, mutant.name): (True, 7.0), (other.system, other.name): (False, 61.0)}
    assert known(page(found)) == found
    assert f"{len(MUTANTS)} are planted, 2 were played, 1 were found." in page(found)


def test_a_fault_that_was_missed_once_is_told_as_such() -> None:
    """Random kills stand apart: of an exact act every miss counts."""
    exact = next(mutant for mutant in MUTANTS if "kills" not in mutant.chaos)
    drawn = next(mutant for mutant in MUTANTS if "kills" in mutant.chaos)
    told = repeats.page([repeats.Repeats(drawn, 5, 4, False, False), repeats.Repeats(exact, 5, 5, True, False)], "9")
    assert "Of 1 that exact acts are to find 1 were found every time" in told
    assert "and 0 of them at the same points" in told
    assert told.index(exact.name) < told.index(drawn.name)


def test_the_same_seed_finds_the_same_at_the_same_points() -> None:
    """Twice, of a fault that one point shows."""
    (mutant,) = (one for one in MUTANTS if one.name == "redrives_in_two_steps" and one.system == "worker")
    twice = repeats.repeat(mutant, 2)
    assert twice.is_kept
    assert twice.same_problems
