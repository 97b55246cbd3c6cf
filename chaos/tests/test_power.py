"""Power cuts: the images are those that a disk may hold, and each level of durability is judged as it is declared."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from buschaos import shares
from buschaos.limits import Progress, Time
from buschaos.power import PowerLoss
from buschaos.sessions import PowerResult
from buschaos.state import Problem
from buschaos.subjects import SUBJECTS
from buschaos.tape.cuts import MODELS, TIERS, Model, PowerCuts
from buschaos.tape.image import Image, replay
from buschaos.tape.step import Step
from busproof.bus.fleet import Fleet, reference


def images(base: dict[str, bytes], tape: list[Step], model: Model, *, block: int = 4096) -> list[dict[str, bytes]]:
    """All images of a cut after the whole tape."""
    cutter = PowerCuts(Image(base, frozenset({"d"})), tape, block)
    return [cutter.image(cut).files for tier in TIERS for cut in cutter.cuts(len(tape), model, tier)]


def play(spec: str, out: Path, system: str = "worker", **how: object) -> PowerResult:
    """The power loss of one bus."""
    fleet = Fleet([spec], system=system)
    try:
        return PowerLoss(fleet, out, **{"deaths": 0, **how}).run()  # type: ignore[arg-type]
    finally:
        fleet.close()


TEMPORARY_AND_RENAME = [
    Step("create", "d/tmp"),
    Step("write", "d/tmp", data=b"content"),
    Step("sync", "d/tmp"),
    Step("rename", "d/new", source="d/tmp"),
]


def test_what_was_synced_is_in_every_image() -> None:
    """And unsynced data may be missing, in part or whole."""
    tape = [Step("write", "a", data=b"new"), Step("sync", "a"), Step("write", "a", offset=3, data=b"er")]
    left = images({"a": b"old"}, tape, "ext4")
    assert {image["a"] for image in left} == {b"new", b"new\0\0", b"newer"}


def test_only_posix_misses_a_folder_that_was_not_synced() -> None:
    """The name of a synced file is gone in the weak model, and there in the journal's and in the lazy one."""
    tape = [*TEMPORARY_AND_RENAME, Step("write", "log", data=b"d/new"), Step("sync", "log")]
    missing = {model: any("d/new" not in disk for disk in images({"log": b""}, tape, model)) for model in MODELS}
    assert missing == {"lazy": False, "ext4": False, "weak": True}


def test_a_synced_folder_keeps_its_names() -> None:
    """In every model."""
    tape = [*TEMPORARY_AND_RENAME, Step("sync", "d"), Step("write", "x", data=b"1")]
    for model in MODELS:
        assert all(disk["d/new"] == b"content" for disk in images({"x": b""}, tape, model))


def test_a_write_is_torn_at_blocks() -> None:
    """Of 512 bytes, as a disk writes them."""
    left = images({"a": bytes(1024)}, [Step("write", "a", data=b"x" * 1024)], "weak", block=512)
    assert b"x" * 512 + bytes(512) in [disk["a"] for disk in left]
    assert bytes(512) + b"x" * 512 in [disk["a"] for disk in left]


def test_names_go_in_the_order_of_the_journal() -> None:
    """Never the later one without the earlier, in ext4."""
    left = images({}, [Step("create", "1"), Step("create", "2")], "ext4")
    assert {tuple(sorted(disk)) for disk in left} == {(), ("1",), ("1", "2")}


def test_all_kept_is_the_replay() -> None:
    """The image of a cut from which nothing is missing equals the disk."""
    tape = [*TEMPORARY_AND_RENAME, Step("write", "a", offset=2, data=b"zz"), Step("cut", "a", offset=3)]
    base = Image({"a": b"0123456"}, frozenset({"d"}))
    assert replay(base, tape).files in images(base.files, tape, "ext4")


def test_a_failed_sync_drops_what_it_should_have_written() -> None:
    """Fsyncgate: the second sync succeeds and brings nothing back."""
    tape = [Step("write", "a", data=b"new"), Step("sync", "a"), Step("sync", "a")]
    assert PowerCuts(Image({"a": b"old"}), tape, 4096).after_failed_sync(1).files == {"a": b"old"}


def test_a_name_in_a_folder_that_is_not_there_leads_nowhere() -> None:
    """Folder and file may reach the disk in any order if nothing was synced."""
    left = images({"a": b"old"}, [Step("mkdir", "e"), Step("rename", "e/a", source="a")], "weak")
    assert {tuple(disk) for disk in left} == {(), ("a",), ("e/a",)}


@pytest.mark.parametrize(("system", "images"), [("worker", 120), ("relay", 40), ("timeline", 80)])
def test_at_full_nothing_acknowledged_is_lost(tmp_path: Path, system: str, images: int) -> None:
    """Judged as power-loss, which the option keeps."""
    how: dict[str, Any] = {"options": {"synchronous": "FULL"}, "durability": "power-loss"}
    result = play(reference(system), tmp_path, system, images=images, **how)
    assert [problem.why for problem, _ in result.problems] == []
    assert not result.doubt
    assert result.checked == images
    assert set(result.lost) == {0}


@pytest.mark.parametrize(
    ("system", "names"),
    [
        ("worker", ("publish", "publish with blob", "save_blob")),
        ("comms", ("write_artifact", "send_message")),
        ("timeline", ("send", "reply")),
        ("relay", ("scan",)),
    ],
)
def test_nobody_builds_on_what_the_dead_had_not_synced(tmp_path: Path, system: str, names: tuple[str, ...]) -> None:
    """Each dies before it syncs, the same call is made again, and the power goes."""
    operations = tuple(operation for operation in SUBJECTS[system].repertoire.operations if operation.name in names)
    assert {operation.name for operation in operations} == set(names)
    how: dict[str, Any] = {"options": {"synchronous": "FULL"}, "durability": "power-loss", "operations": operations}
    result = play(reference(system), tmp_path, system, images=1, deaths=3, **how)
    assert [problem.why for problem, _ in result.problems] == []
    assert result.deaths >= len(names) and result.after_deaths > result.deaths


@pytest.mark.parametrize("system", ["worker", "comms"])
def test_at_normal_a_prefix_is_left_and_how_much_is_lost_is_told(tmp_path: Path, system: str) -> None:
    """Judged as process-crash, which is declared."""
    result = play(reference(system), tmp_path, system, images=100)
    assert [problem.why for problem, _ in result.problems] == []
    assert max(result.lost) > 0


def test_the_same_seed_cuts_the_same_disks(tmp_path: Path, faulty: Callable[[str], str]) -> None:
    """And finds the same."""

    def places() -> list[tuple[str, str]]:
        result = play(faulty("worker/says_power_loss"), tmp_path, images=15, seed=3)
        return [(problem.point, problem.noun) for problem, _ in result.problems]

    assert places() == places() != []


def test_a_long_run_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    """Three sessions of five images: one was checked by a first run, the others are by the second, and all are told."""
    how: dict[str, Any] = {"per_session": 5, "seed": 1}
    assert play(reference("worker"), tmp_path, images=5, **how).sessions == 1
    result = play(reference("worker"), tmp_path, images=15, resumes=True, **how)
    assert (result.sessions, result.checked, result.earlier) == (3, 15, 5)
    assert result.lost.total() == 15
    assert play(reference("worker"), tmp_path, images=5, seed=2, per_session=5, resumes=True).earlier == 0


def test_problems_of_an_earlier_run_are_told_again(tmp_path: Path, faulty: Callable[[str], str]) -> None:
    """Nobody looks at these disks a second time."""
    bus = faulty("worker/says_power_loss")
    told_problems = list[tuple[Problem, Path]]()
    first = play(bus, tmp_path, images=10, seed=3)
    again = play(bus, tmp_path, images=10, seed=3, resumes=True, tell=told_problems.extend)
    assert again.earlier == first.checked == 10
    assert told_problems == again.problems == first.problems != []


def test_processes_that_share_the_sessions_find_what_one_finds(tmp_path: Path, faulty: Callable[[str], str]) -> None:
    """The same disks, the same losses, the same problems, each once; and a later run believes all of them."""
    spec = faulty("worker/says_power_loss")
    how: dict[str, Any] = {"images": 12, "per_session": 5, "deaths": 0, "seed": 3}
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    alone = play(spec, tmp_path / "one", **how)
    new = partial(PowerLoss, out=tmp_path / "two", **how)
    opening = partial(Fleet, [spec], system="worker")
    shared, why = shares.cut(opening, new, 2, False, Progress(), Time(), "power_loss")
    again, _ = shares.cut(opening, new, 3, True, Progress(), Time(), "power_loss")

    def places(result: PowerResult) -> list[tuple[str, str]]:
        return sorted((problem.point, problem.noun) for problem, _ in result.problems)

    assert why == ""
    assert places(again) == places(shared) == places(alone) != []
    assert len({path for _, path in shared.problems}) == len({path for _, path in alone.problems})
    assert (shared.sessions, shared.checked, shared.earlier) == (3, 12, 0)
    assert (again.sessions, again.checked, again.earlier) == (3, 12, 12)
    assert (shared.lost, shared.by_model) == (alone.lost, alone.by_model)


@pytest.mark.nightly
@pytest.mark.parametrize("system", sorted(SUBJECTS))
def test_every_operation_dies_before_each_sync_and_then_the_power_goes(tmp_path: Path, system: str) -> None:
    """At the level that is declared, and at power-loss if an option brings it."""
    full: dict[str, Any] = {"options": {"synchronous": "FULL"}, "durability": "power-loss"}
    for number, how in enumerate([{}, full] if system != "topics" else [{}]):
        (out := tmp_path / str(number)).mkdir()
        result = play(reference(system), out, system, images=1, deaths=1_000, **how)
        assert [problem.why for problem, _ in result.problems] == []


@pytest.mark.nightly
@pytest.mark.parametrize("system", ["worker", "comms"])
def test_ten_thousand_images(tmp_path: Path, system: str) -> None:
    """At NORMAL."""
    result = play(reference(system), tmp_path, system, images=10_000)
    assert [problem.why for problem, _ in result.problems] == []
