"""A point has one text, which plays it again."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from buschaos import cli, points
from buschaos.nemeses import disk
from buschaos.nemeses.syscalls import ANSWER, Change, Continue, Fail, Kill, Short, Torn
from buschaos.points import Point


@pytest.mark.parametrize(
    "text",
    [
        "7:kill",
        "0:kill",
        "7:torn:512",
        "3:EIO",
        "3:ENOSPC:sticky",
        "7:short:512",
        "7:short:512:sticky",
        "7:hold",
        "7:hold:5",
        "7:others",
        "7:SIGTERM",
        "0:EOF",
        "7:kill:then:2",
        "7:kill:pid",
    ],
)
def test_a_point_is_told_as_it_is_read(text: str) -> None:
    """There and back."""
    assert str(points.parse(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "7",
        "kill",
        "7:EWHAT",
        "7:EIO:often",
        "7:short",
        "7:short:5:often",
        "7:torn:5:sticky",
        "x:kill",
        "7:hold:x",
        "7:others:5",
        "0:others",
        "7:SIGKILL",
        "7:SIGTERM:2",
        "7:kill:then",
        "7:torn:512:pid",
    ],
)
def test_what_is_no_point_is_refused(text: str) -> None:
    """Before anything runs."""
    with pytest.raises(ValueError):
        points.parse(text)


def test_an_error_that_stays_meets_what_can_meet_it() -> None:
    """A full disk stops writes, and no removal."""
    point = Point(2, Fail(errno.ENOSPC), is_sticky=True)
    calls = ["write", "write", "unlink", "openat"]
    verdicts = [point.decide(Change(n, call, "f", None)) for n, call in enumerate(calls, 1)]
    assert verdicts == [Continue(), Fail(errno.ENOSPC), Continue(), Fail(errno.ENOSPC)]


def test_an_error_that_stays_never_meets_the_answer() -> None:
    """A pipe is no disk: the bus must be able to report the error."""
    point = Point(1, Fail(errno.EIO), is_sticky=True)
    assert [point.decide(Change(n, "write", path, 9)) for n, path in enumerate(("f", ANSWER, "f"), 1)] == [
        Fail(errno.EIO),
        Continue(),
        Fail(errno.EIO),
    ]


def test_after_a_short_write_that_stays_nothing_finds_room() -> None:
    """But a file can be cut and synced, and the bus can answer."""
    point = Point(2, Short(4), is_sticky=True)
    calls = [("write", "f"), ("write", "f"), ("write", "f"), ("ftruncate", "f"), ("fsync", "f"), ("write", ANSWER)]
    verdicts = [point.decide(Change(n, call, path, 9)) for n, (call, path) in enumerate(calls, 1)]
    assert verdicts == [Continue(), Short(4), Fail(errno.ENOSPC), Continue(), Continue(), Continue()]


def test_an_error_that_stays_is_over_with_the_answer() -> None:
    """Later changes belong to another call, which may mend the damage that this one could not."""
    decide = Point(1, Fail(errno.EIO), is_sticky=True).decide_call()
    paths = ("f", "f", ANSWER, "f")
    assert [decide(Change(n, "write", path, 9)) for n, path in enumerate(paths, 1)] == [
        Fail(errno.EIO),
        Fail(errno.EIO),
        Continue(),
        Continue(),
    ]


def test_a_write_that_is_no_longer_is_taken_whole() -> None:
    """A bus that wrote more in the rehearsal."""
    assert Point(1, Short(9)).decide(Change(1, "write", "f", 9)) == Continue()


def test_a_tear_of_a_short_write_is_a_kill() -> None:
    """There is nothing to tear."""
    assert Point(1, Torn(512)).decide(Change(1, "write", "f", 100)) == Kill()


def test_one_point_is_played_again_by_its_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], faulty: Callable[[str], str]
) -> None:
    """The same fault, found in that point alone."""
    bus = faulty("worker/writes_blobs_in_place")
    argv = ["worker", "--only", "save_blob", "--at", "2:torn:512", "--bus", bus, "--out", str(tmp_path)]
    assert cli.main(argv) == 1
    output = capsys.readouterr().out
    assert "1 points killed" in output
    assert "--only 'save_blob' --at 2:torn:512" in output


def test_a_disk_that_others_need_is_not_filled(tmp_path: Path) -> None:
    """A folder on this machine's own disk."""
    assert "only a disk of 64 MiB or less is filled" in str(disk.why_not_filled(tmp_path))


def test_one_error_is_played_again_without_a_full_disk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the act whose rows are about errors, and in no other."""
    assert cli.main(["worker", "--only", "publish", "--at", "2:EIO", "--out", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    assert "chaos.disk_full:" in output and "errors injected" in output
    assert "chaos.kill_points" not in output and "levels" not in output
