"""Every write point of every operation: the reference loses and tears nothing, and planted faults are found."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from buschaos import judge
from buschaos.crashpoints import CrashPoints, OperationResult, cuts, in_the_middle, named_anew
from buschaos.operations import Operation, Prepared
from buschaos.subjects.worker.operations import OPERATIONS
from buschaos.tape.image import Image
from busproof.bus.fleet import Fleet, reference


def play(
    spec: str,
    out: Path,
    *operations: Operation,
    kills: bool = True,
    errors: tuple[int, ...] = (),
    torn: Callable[[int], set[int]] = in_the_middle,
    shorts: bool = False,
) -> dict[str, OperationResult]:
    """All points of these operations."""
    fleet = Fleet([spec], system="worker")
    try:
        points = CrashPoints(
            fleet,
            out,
            judge=lambda events: judge.of_events(events).problems,
            kills=kills,
            errors=errors,
            torn=torn,
            shorts=shorts,
            operations=operations,
        )
        return {result.operation.name: result for result in points.run()}
    finally:
        fleet.close()


def named(*names: str) -> list[Operation]:
    """The operations of these names."""
    return [next(op for op in OPERATIONS if op.name == name) for name in names]


def three_messages(_: Prepared) -> dict[str, Any]:
    """A batch: it shows as much as thirty do."""
    return {"agent_id": "alice", "messages": [{"id": f"new-{n}", "to": "bob", "type": "note"} for n in range(3)]}


def whys(results: dict[str, OperationResult]) -> list[str]:
    """Every problem, with its point."""
    return [f"{p.title}: {q.why}" for r in results.values() for p in r.bad for q in p.problems]


LONG = ("open", "archive")  # a hundred changes each
SHORT = [operation.name for operation in OPERATIONS if operation.name not in LONG]
TORN = ("publish", "publish with blob", "publish_many with blobs", "export_to_jsonl", "save_blob")  # nightly all are


def test_the_reference_survives_every_write_point(tmp_path: Path) -> None:
    """Killed before each change and in the middle of some writes: before or after, and the retry completes it."""
    whole = [name for name in SHORT if name not in TORN]
    results = play(reference("worker"), tmp_path / "torn", *named(*TORN))
    results |= play(reference("worker"), tmp_path / "whole", *named(*whole), torn=lambda _: set())
    assert set(results) == set(SHORT)
    assert whys(results) == []
    assert all(len(result.points) > 1 and result.changes and not result.doubt for result in results.values())


@pytest.mark.nightly
def test_a_store_may_hold_a_named_pipe_and_a_socket(tmp_path: Path, harmless: Callable[[str], str]) -> None:
    """All of the act is played, and what is written to the pipe is no change of a file."""
    results = play(harmless("refbus_odd_store"), tmp_path, *named("publish", "ack"))
    assert whys(results) == []
    assert all(result.changes and not result.doubt for result in results.values())


def test_the_reference_survives_every_write_point_of_long_operations(tmp_path: Path) -> None:
    """Creating a store, and archiving with its vacuum."""
    results = play(reference("worker"), tmp_path, *named(*LONG), torn=lambda _: set())
    assert whys(results) == []
    assert all(len(result.points) > 50 for result in results.values())


def test_the_reference_tells_the_truth_about_errors_of_the_disk(tmp_path: Path) -> None:
    """ENOSPC and EIO once at each change: refused and not done, or done, or said to be unknown; and it works again."""
    names = ("publish", "publish with blob", "ack", "try_claim_task", "transition", "export_to_jsonl", "save_blob")
    results = play(reference("worker"), tmp_path, *named(*names), kills=False, errors=(errno.ENOSPC, errno.EIO))
    assert whys(results) == []


def test_the_reference_goes_on_after_a_short_write(tmp_path: Path) -> None:
    """At each place that writes: with the rest if there is room, and else with a refusal that is true."""
    names = ("publish", "publish with blob", "transition, the first", "export_to_jsonl", "save_blob")
    results = play(reference("worker"), tmp_path, *named(*names), kills=False, shorts=True)
    assert whys(results) == []
    for result in results.values():
        assert {str(point.point).count("sticky") for point in result.points} == {0, 1}
        assert all(point.is_struck for point in result.points)


@pytest.mark.parametrize(
    ("fault", "name", "noun", "says"),
    [
        ("worker/answers_before_commit", "publish", "log", "was answered, and is not whole"),
        ("worker/publishes_one_by_one", "publish_many", "log", "is half done"),
        ("worker/exports_then_records", "export_to_jsonl", "export", "no line of an export"),
        ("worker/writes_blobs_in_place", "save_blob", "blob", "corrupt"),
        ("worker/saves_a_batch_late", "publish_many with blobs", "blob", "missing"),
    ],
)
def test_a_planted_fault_is_found(
    tmp_path: Path, faulty: Callable[[str], str], fault: str, name: str, noun: str, says: str
) -> None:
    """By the operation that it breaks, under its noun, with the store and the history kept."""
    (operation,) = named(name)
    if name == "publish_many":
        operation = replace(operation, params=three_messages)
    results = play(faulty(fault), tmp_path, operation)
    bad = [(point, p) for point in results[name].bad for p in point.problems if p.noun == noun and says in p.why]
    assert bad
    kept = bad[0][0].kept
    assert kept is not None
    assert (kept / "history.jsonl").exists()
    assert (kept / "store").is_dir()


def test_a_bus_that_dies_of_an_error_is_found(tmp_path: Path, faulty: Callable[[str], str]) -> None:
    """No answer is no answer, though nothing was lost."""
    results = play(
        faulty("worker/dies_of_a_full_disk"), tmp_path, *named("publish"), kills=False, errors=(errno.ENOSPC,)
    )
    assert any("ended its process" in line for line in whys(results))


def test_a_mixed_fleet_has_its_first_bus_killed(tmp_path: Path, faulty: Callable[[str], str]) -> None:
    """The survivor is the second: a healthy one finds the damage that a faulty one left."""
    fleet = Fleet([faulty("worker/exports_then_records"), reference("worker")], system="worker")
    try:
        (result,) = CrashPoints(fleet, tmp_path, operations=tuple(named("publish")), torn=in_the_middle).run()
    finally:
        fleet.close()
    assert result.bad == []


def test_a_write_is_torn_at_its_edges_at_a_sector_and_in_its_middle() -> None:
    """And never at nothing or at everything."""
    assert cuts(4096) == {1, 512, 2048, 4095}
    assert cuts(2) == {1}
    assert cuts(1) == cuts(0) == in_the_middle(1) == set()


def test_a_pid_in_a_small_file_or_a_link_becomes_anothers_and_other_digits_stay() -> None:
    """A longer number, a hash and a page of a database that hold the same digits are as they were."""
    files = {"lock": b'{"pid": 471}', "log": b"1471 a471 4710", "page": b" 471 " * 200}
    left = Image(files, links={"owner": "host.471"})
    named = named_anew(left, [471, 472], 9)
    assert named.files == {**files, "lock": b'{"pid": 9}'}
    assert named.links == {"owner": "host.9"}
    assert named_anew(left, [], 9) == left


@pytest.mark.nightly
def test_the_reference_survives_every_write_point_torn_everywhere(tmp_path: Path) -> None:
    """All operations, all cuts, all errors."""
    results = play(reference("worker"), tmp_path, *OPERATIONS, torn=cuts, errors=(errno.ENOSPC, errno.EIO), shorts=True)
    assert whys(results) == []
    assert set(results) == {operation.name for operation in OPERATIONS}
