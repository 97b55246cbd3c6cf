"""--quick is a scope of its own: it ends, decides every row in a smaller form, and tells what the full run adds."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from buschaos import cli
from buschaos.limits import Time
from buschaos.nemeses.syscalls import Change
from buschaos.points import Point, parse, why_impossible
from buschaos.subjects import SUBJECTS
from busproof.pages.report import lines


def test_a_sample_is_drawn_by_the_seed_and_has_one_of_each_kind_first() -> None:
    """No time ends it, and its parts are samples, too."""
    sample = Time(is_sample=True)
    assert not sample.is_limited and sample.part(3).is_sample
    assert sample.ordered(range(99), "s", few=9) == sample.ordered(range(99), "s", few=9) != list(range(9))
    drawn = sample.ordered(range(99), "s", lambda number: number % 7, few=7)
    assert sorted(number % 7 for number in drawn) == list(range(7))
    assert sorted(sample.ordered(range(9), "s")) == list(range(9))
    assert Time().ordered(range(9), "s", few=2) == list(range(9))


@pytest.mark.nightly
@pytest.mark.parametrize("system", sorted(SUBJECTS))
def test_a_sound_bus_is_valid(system: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every row is decided, whatever the seed; each act says what it did without."""
    assert cli.main([system, "--quick", "--out", str(tmp_path)]) == 0
    report = lines.load(tmp_path / "report.jsonl")
    assert {row["outcome"] for row in report.rows} <= {"pass", "not-applicable"}
    out = capsys.readouterr().out
    assert f"as a {system} bus under chaos (in part; a sample of each act)" in out
    assert out.count("the full run adds ") >= 5
    assert f"A sample decides less than all. The full run: busproof chaos {system}" in out


def test_a_broken_bus_is_invalid_and_its_finding_replays_from_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], faulty: Callable[[str], str]
) -> None:
    """The line as printed finds the same, and the finding says what usually mends its kind."""
    bus = faulty("worker/writes_blobs_in_place")
    argv = ["worker", "--bus", bus, "--points", "--quick", "--stop-after", "1", "--seed", "1"]
    assert cli.main([*argv, "--out", str(tmp_path / "first")]) == 1
    out = capsys.readouterr().out
    assert "usually mended so: write the blob to a temporary file, sync it, rename it" in out
    (replay,) = re.findall(r"replay: busproof chaos (.+)", out)
    assert " --at " in replay and "--quick" not in replay
    assert cli.main([*shlex.split(replay), "--out", str(tmp_path / "again")]) == 1


@pytest.mark.parametrize(
    ("at", "why"),
    [
        ("9:kill", "makes 3 changes"),
        ("1:short:100", "writes 88 bytes"),
        ("2:short:100", "writes no bytes"),
        ("1:torn:88", "writes 88 bytes"),
        ("2:ENOSPC", "cannot meet ENOSPC"),
    ],
)
def test_an_impossible_point_is_told(at: str, why: str) -> None:
    changes = [Change(1, "write", "f", 88), Change(2, "unlink", "f", None), Change(3, "fsync", "f", None)]
    point = parse(at)
    assert isinstance(point, Point) and why in why_impossible(point, changes)


@pytest.mark.parametrize("at", ["0:kill", "1:kill", "1:torn:87", "1:short:1", "1:ENOSPC", "3:EIO:sticky", "2:others"])
def test_a_possible_point_is_not_refused(at: str) -> None:
    changes = [Change(1, "write", "f", 88), Change(2, "unlink", "f", None), Change(3, "fsync", "f", None)]
    point = parse(at)
    assert isinstance(point, Point) and not why_impossible(point, changes)


def test_an_impossible_point_is_refused_instead_of_passing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2: nothing was played, and nothing is decided."""
    assert cli.main(["worker", "--only", "save_blob", "--at", "99:kill", "--out", str(tmp_path)]) == 2
    assert "save_blob has no point 99:kill: it makes " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("fault", "flags"),
    [
        ("worker/swallows_full_disk", ["--disk-full"]),
        ("worker/says_power_loss", ["--power", "15", "--seed", "3", "--only", "publish"]),
    ],
)
def test_a_level_and_a_cut_replay_from_the_printed_line(
    fault: str, flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], faulty: Callable[[str], str]
) -> None:
    argv = ["worker", "--bus", faulty(fault), *flags, "--stop-after", "1", "--out", str(tmp_path / "first")]
    assert cli.main(argv) == 1
    replay = re.findall(r"replay: busproof chaos (.+)", capsys.readouterr().out)[0]
    assert " --at " in replay
    assert cli.main([*shlex.split(replay), "--out", str(tmp_path / "again")]) == 1
