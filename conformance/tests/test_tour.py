"""docs/tour.md is true: each command ends and prints as the page says, with the mistake in the bus and without."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
WHOLE = "busproof check worker --bus 'exec:python adapter.py' --profile core"
SCRIPT = "busproof explore worker --script released.jsonl --bus 'exec:python adapter.py'"


def blocks(title: str) -> list[str]:
    """The indented blocks of a chapter; a command and its output are one."""
    chapter = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0] + "\n"
    indented = re.findall(r"(?:^    .*\n(?:\n(?=    ))?)+", chapter, re.MULTILINE)
    return [re.sub("(?m)^    ", "", block).strip("\n") for block in indented]


RIGHT, WRONG = blocks("The bus")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The example, with the mistake of the page."""
    for path in (ROOT / "conformance/examples/minimal_python").glob("*.py"):
        shutil.copy(path, tmp_path)
    change(tmp_path, RIGHT, WRONG)
    (tmp_path / "released.jsonl").write_text(blocks("The script")[1] + "\n", encoding="utf-8")
    return tmp_path


def change(folder: Path, old: str, new: str) -> None:
    """Put one line of the bus in the place of another."""
    text = (folder / "bus.py").read_text(encoding="utf-8")
    assert text.count(old) == 1
    (folder / "bus.py").write_text(text.replace(old, new), encoding="utf-8")


def play(command: str, folder: Path) -> tuple[int, str]:
    """The exit code of a command, and what the command printed."""
    argv = shlex.split(command.replace("exec:python", f"exec:{sys.executable}"))
    done = subprocess.run([sys.executable, "-m", *argv], cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def are_shown(wanted: str, printed: str) -> bool:
    """Is each line of the page the beginning of a line that was printed, in this order?"""
    rest = iter(printed.splitlines())
    return all(any(line.startswith(text) for line in rest) for text in wanted.splitlines())


def test_the_script_shows_the_bug_and_passes_after_the_fix(folder: Path) -> None:
    command, witness = blocks("The witness")
    assert command == SCRIPT
    code, printed = play(command, folder)
    assert (code, are_shown(witness, printed)) == (1, True), printed

    fix, again, _ = blocks("The fix")
    change(folder, WRONG, fix)
    command, _, outcome = again.partition("\n\n")
    assert command == SCRIPT
    code, printed = play(command, folder)
    assert (code, are_shown(outcome, printed)) == (0, True), printed


def test_the_row_is_explained_as_the_page_says(folder: Path) -> None:
    command, _, row = blocks("The row")[0].partition("\n\n")
    code, printed = play(command, folder)
    assert (code, are_shown(row, printed)) == (0, True), printed


@pytest.mark.nightly
def test_the_verdict_is_invalid_with_three_rows_and_valid_after_the_fix(folder: Path) -> None:
    command, verdict = blocks("The verdict")
    assert command == WHOLE
    code, printed = play(f"{command} --seed 7", folder)  # with which the random search meets the mistake, too
    assert (code, are_shown(verdict, printed)) == (1, True), printed
    broken = re.findall(r"(?m)^fail (worker\.lease\.\d+) MUST", printed)
    assert sorted(broken) == ["worker.lease.12", "worker.lease.14", "worker.lease.25"]

    command, _, verdict = blocks("The fix")[2].partition("\n\n")
    assert command == WHOLE
    change(folder, WRONG, RIGHT)
    code, printed = play(command, folder)
    assert (code, are_shown(verdict, printed)) == (0, True), printed
