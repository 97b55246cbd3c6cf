"""A store that was damaged behind the bus's back: the rules, held against buses that break them."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from buschaos.damage import WAYS, WAYS_OF_A_DATABASE, damaging, flipped
from buschaos.tape.image import Image
from busproof.bus.fleet import reference


def test_one_bit_is_flipped_in_a_file_of_the_kind() -> None:
    """And nowhere else."""
    whole = Image({"bus.db": b"abc", "bus.db-wal": b"", "blobs/sha256-1": b"x"})
    drawn = flipped(whole, "database", random.Random(1))
    assert drawn is not None
    left, where = drawn
    assert where.endswith("of bus.db")
    assert {path for path in left.files if left.files[path] != whole.files[path]} == {"bus.db"}
    assert (int.from_bytes(left.files["bus.db"]) ^ int.from_bytes(b"abc")).bit_count() == 1
    assert flipped(whole, "log", random.Random(1)) is None


def test_the_reference_tells_of_a_damaged_blob_and_refuses_a_store_that_is_gone(tmp_path: Path) -> None:
    """No process ends of a flipped bit, in any kind of file."""
    with damaging(reference("worker"), "worker", tmp_path) as damage:
        assert damage.bits("blob", 5, seed=1) == {"told": 5}
        assert damage.bits("database", 5, seed=1).total() == damage.bits("log", 5, seed=1).total() == 5
        ends = dict(damage.files())
        assert damage.problems == []
    assert len(ends) == 2 * (len(WAYS) + len(WAYS_OF_A_DATABASE))  # of the log, and of the database
    assert set(ends.values()) == {"refused IO_ERROR"}


@pytest.mark.parametrize("system", ["worker", "comms", "timeline", "topics"])
def test_a_process_is_at_work_on_something_else_before_its_files_go(system: str, tmp_path: Path) -> None:
    """Were it the same call, its retry would be answered from the copy, and nothing would be lost."""
    with damaging(reference(system), system, tmp_path) as damage:
        ids, params = damage.stored()
        others = [ids(other) for other in damage.of_another_id(params)]
        assert others
        assert not any(ids(params) & other for other in others)


def test_who_goes_on_in_a_removed_file_loses_what_it_acknowledges(tmp_path: Path, faulty: Callable[[str], str]) -> None:
    """The message is in a file that nobody can find."""
    with damaging(faulty("worker/writes_into_a_removed_file"), "worker", tmp_path) as damage:
        ends = dict(damage.files())
        assert ends["bus.db removed"] == "acknowledged, and lost"
        assert damage.problems


@pytest.mark.parametrize("system", ["worker", "topics"])
def test_a_call_that_waited_for_the_lock_of_a_file_that_went_is_not_acknowledged(
    tmp_path: Path, faulty: Callable[[str], str], system: str
) -> None:
    """It looked before it waited: that is not enough."""
    with damaging(faulty(f"{system}/waits_for_a_file_that_goes"), system, tmp_path) as damage:
        ends = dict(damage.files())
    assert {end for way, end in ends.items() if not way.endswith("waits")} == {"refused IO_ERROR"}
    assert "acknowledged, and lost" in {end for way, end in ends.items() if way.endswith("waits")}


@pytest.mark.parametrize(("system", "log"), [("relay", "ledger.db-wal"), ("timeline", "timeline.db-wal")])
def test_who_looks_at_the_database_alone_loses_what_it_writes_into_its_log(
    tmp_path: Path, faulty: Callable[[str], str], system: str, log: str
) -> None:
    """A file that a pass took up counts like an acknowledged call; the reference refuses both, and nothing is lost."""
    with damaging(faulty(f"{system}/looks_at_the_database_alone"), system, tmp_path) as damage:
        damage.under_a_live_one(log, WAYS["removed"])
        assert [", and lost: " in problem for problem, _ in damage.problems] == [True]
    with damaging(reference(system), system, tmp_path) as damage:
        assert damage.under_a_live_one(log, WAYS["removed"]).startswith("refused IO_ERROR")
        assert damage.problems == []


def test_who_believes_its_blobs_hands_out_what_was_never_sent(tmp_path: Path, faulty: Callable[[str], str]) -> None:
    """One letter becomes another, and nobody is told."""
    with damaging(faulty("worker/blobs_are_believed"), "worker", tmp_path) as damage:
        damage.bits("blob", 5, seed=1)
        assert any("another content" in problem for problem, _ in damage.problems)
