"""The benches of timeline in their short form: what they judge besides speed holds, and they still run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[1] / "bench" / "timeline.py"


@pytest.mark.parametrize(
    "arguments",
    [
        ["workers", "--workers", "2", "--timelines", "3", "--requests", "20"],
        ["latency", "--messages", "20"],
        ["kills", "--backends", "sqlite", "--invokes", "24", "--kill-every-ms", "500"],
        ["growth", "--stored", "2500", "--rounds", "2"],
    ],
    ids=" ".join,
)
def test_nothing_is_lost_or_stuck(tmp_path: Path, arguments: list[str]) -> None:
    """Exit status 0; speed is not asked for."""
    command = [sys.executable, str(BENCH), "--folder", str(tmp_path), *arguments]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
