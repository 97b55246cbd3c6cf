"""The line that chaos prints to play an act again does so, exactly as printed: the same rows fail."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from buschaos import cli
from busproof.pages.report import lines

AGAINST = "a claim after the lease that it got"
CASES = {
    "random kills": ("worker/answers_before_commit", ["--kills", "16", "--seed", "5"]),
    "one operation": ("worker/answers_before_commit", ["--points", "--only", "publish"]),
    "one point": ("worker/publishes_one_by_one", ["--only", "publish_many", "--at", "13:kill"]),
    "a hold": ("worker/believes_its_own_claims", ["--only", "try_claim_task", "--against", AGAINST, "--at", "3:hold"]),
    "a power cut": ("worker/says_power_loss", ["--power", "15", "--seed", "3", "--only", "publish"]),
    "damage": ("worker/writes_into_a_removed_file", ["--damage", "1", "--seed", "1"]),
}

DEAR = ("random kills", "damage")  # half a minute each


def _broken(out: Path) -> set[tuple[str, str]]:
    """The rows that do not hold; a dialect does not fail."""
    rows = lines.load(out / "report.jsonl").rows
    return {(row["requirement"], row["outcome"]) for row in rows if row["outcome"] in ("fail", "warn")}


def _played(
    kind: str, times: int, tmp_path: Path, faulty: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    fault, flags = CASES[kind]
    code = cli.main(["worker", "--bus", faulty(fault), *flags, "--out", str(tmp_path / "first")])
    assert _broken(tmp_path / "first")
    (again,) = [line for line in capsys.readouterr().out.splitlines() if "again: " in line]
    argv = shlex.split(again.partition("again: ")[2])
    for flag in flags:
        assert flag in argv
    for number in range(times):
        out = tmp_path / str(number)
        assert cli.main([*argv[2:], "--out", str(out)]) == code
        assert _broken(out) == _broken(tmp_path / "first")


@pytest.mark.parametrize("kind", [kind for kind in CASES if kind not in DEAR])
def test_the_line_as_printed_fails_the_same_rows(
    kind: str, tmp_path: Path, faulty: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Operation, point, peer, seed and count are in it."""
    _played(kind, 1, tmp_path, faulty, capsys)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", CASES)
def test_the_line_as_printed_fails_the_same_rows_twenty_times(
    kind: str, tmp_path: Path, faulty: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    """In 20 of 20."""
    _played(kind, 20, tmp_path, faulty, capsys)
