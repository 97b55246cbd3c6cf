"""A full disk: definite errors with their own code, a process that lives, and nothing lost."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chaos.tests import acts

from buschaos import diskfull
from buschaos.nemeses import disk
from buschaos.subjects import SUBJECTS
from busproof.bus.base import Refused
from busproof.bus.fleet import reference

LETTERS = f"exec:{sys.executable} {Path(__file__).parent / 'strangers' / 'letters_log.py'}"
# A full disk alone, without a page that is free.
NO_PAGE: dict[str, Any] = {
    "disk_full": True,
    "levels": (0,),
    "wants": (),
    "errors": (),
    "reads": False,
    "shorts": False,
}


def play(spec: str, levels: tuple[int, ...], folder: Path) -> list[diskfull.Level]:
    """The levels, each with a session opened before and one opened after the disk filled up."""
    (work := folder / "work").mkdir()
    return list(diskfull.run([spec], levels, work, folder / "out", system="worker"))


def test_a_small_disk_can_be_mounted_here(tmp_path: Path) -> None:
    """Where it cannot, this test fails rather than being skipped."""
    assert disk.why_unavailable(tmp_path) is None


def test_the_reference_survives_a_full_disk(tmp_path: Path) -> None:
    """Ten levels: from no page at all to nearly enough, all refusals are DISK_FULL."""
    levels = play(reference("worker"), diskfull.LEVELS_FEW, tmp_path)
    assert [problem.why for level in levels for problem in level.problems] == []
    assert len(levels) == 2 * len(diskfull.LEVELS_FEW)
    answers = sum((level.answers for level in levels), Counter[str]())
    assert set(answers) == {"ok", "DISK_FULL"}
    assert levels[0].answers["ok"] == 1  # a poll needs no room


def test_a_log_with_room_in_its_last_page_is_full_of_a_large_message(tmp_path: Path) -> None:
    """A stranger's bus passed: short messages needed no page, so it was never asked what it says of a full disk."""
    played = acts.play("mailbox", LETTERS, tmp_path / "out", **NO_PAGE)
    assert acts.outcomes("mailbox", played)["mailbox.log.23"] == "fail"
    assert "is refused with definite IO_ERROR" in acts.problems_of(played)[0]


def test_a_full_disk_that_no_call_needed_room_on_decides_nothing(tmp_path: Path) -> None:
    """The same bus has taken its room before: what it would say of a full disk was never seen."""
    played = acts.play("mailbox", f"{LETTERS} roomy", tmp_path / "out", **NO_PAGE)
    assert acts.problems_of(played) == []
    assert acts.outcomes("mailbox", played)["mailbox.log.23"] == "inconclusive"


def test_the_reference_works_again_when_descriptors_and_memory_come_back(tmp_path: Path) -> None:
    """The same process works; the calls that it refused meanwhile did not happen."""
    (work := tmp_path / "work").mkdir()
    wants: diskfull.Wants = (("descriptors", (0, 1)), ("KiB of memory", (0,)))
    levels = list(diskfull.run([reference("worker")], (), work, tmp_path / "out", system="worker", wants=wants))
    assert [problem.why for level in levels for problem in level.problems] == []
    assert all(
        {"ok", code} <= set(level.answers)
        for level, code in zip(levels, ("IO_ERROR", "IO_ERROR", "INTERNAL"), strict=True)
    )


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("worker/swallows_full_disk", ("is refused with definite BUSY", "answered with claimed: false")),
        ("worker/dies_of_a_full_disk", ("ended the process",)),
    ],
)
def test_a_planted_fault_is_found(
    tmp_path: Path, faulty: Callable[[str], str], fault: str, says: tuple[str, ...]
) -> None:
    """And the store is kept."""
    levels = play(faulty(fault), (0, 1), tmp_path)
    for words in says:
        faulty_levels = [level for level in levels if any(words in problem.why for problem in level.problems)]
        assert faulty_levels
        assert (tmp_path / "out" / "disk" / faulty_levels[0].name / "store").is_dir()


@pytest.mark.parametrize(
    ("code", "words", "definite", "is_told"),
    [
        ("DISK_FULL", "no room", True, True),
        ("DISK_FULL", "no room", False, False),
        ("DISK_FULL", "Traceback (most recent call last): no room", False, True),
        ("INTERNAL", "Traceback (most recent call last): something else", False, False),
        ("INTERNAL", "500: Internal Server Error", False, True),  # crosstalk-mcp 2.0.0, whose log says why
        ("INTERNAL", "oh", False, False),
    ],
)
def test_a_mailbox_tells_a_full_disk_or_crashes_of_it(code: str, words: str, definite: bool, is_told: bool) -> None:
    assert SUBJECTS["mailbox"].says_full(Refused(code, words, definite=definite)) is is_told


def test_exactly_so_many_pages_are_left_free(tmp_path: Path) -> None:
    """On any file system that is told to be small; the rest goes to the filler, which goes afterwards."""
    assert disk.why_unavailable(tmp_path) is None
    import subprocess
    import sys

    code = (
        "import os, sys; from pathlib import Path; from buschaos.nemeses.disk import filled\n"
        "folder = Path(sys.argv[1])\n"
        "for pages in (0, 1, 7):\n"
        "    with filled(folder, pages):\n"
        "        fd, n = os.open(folder / 'f', os.O_CREAT | os.O_WRONLY), 0\n"
        "        try:\n"
        "            while True: n += os.write(fd, bytes(4096)) == 4096\n"
        "        except OSError: print(n)\n"
        "        os.close(fd); os.unlink(folder / 'f')\n"
        "assert not list(folder.iterdir())"
    )
    done = subprocess.run(
        disk.in_namespace(tmp_path, [sys.executable, "-c", code, str(tmp_path)]),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["0", "1", "7"]


@pytest.mark.nightly
def test_the_reference_survives_every_level(tmp_path: Path) -> None:
    """Every page up to 40, then in steps."""
    levels = play(reference("worker"), diskfull.LEVELS, tmp_path)
    assert [problem.why for level in levels for problem in level.problems] == []
