"""`busproof demo`, the first of the README's two commands. It stands here because its last act needs Spark."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from busproof.run import demo


def test_the_acts_of_the_demo_after_its_check_end_as_they_must(tmp_path: Path) -> None:
    """A mutant, kills, and Spark. The first act is `busproof check worker`, which other tests run by day."""
    check, *others = demo._acts(tmp_path, 7)
    assert check.argv[:2] == ["check", "worker"]
    assert [act.title for number, act in enumerate(others, 2) if not demo._play(number, act)] == []


@pytest.mark.nightly
def test_every_act_of_the_demo_ends_as_it_must(tmp_path: Path) -> None:
    """As a newcomer runs it: without options, in a folder of their own."""
    done = subprocess.run(
        [sys.executable, "-m", "busproof", "demo"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 of 4 acts ended as they must" in done.stdout
    assert (tmp_path / "busproof-out" / "demo" / "check" / "report.html").exists()
