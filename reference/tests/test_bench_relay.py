"""The benches of relay in their short form: what they judge besides speed holds, and they still run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[1] / "bench" / "relay.py"


@pytest.mark.parametrize(
    "arguments",
    [
        ["latency", "--messages", "3"],
        ["scan", "--agents", "10", "--files", "3"],
        ["idle", "--agents", "3", "--archived", "50"],
        ["writers", "--writers", "3", "--messages", "20"],
    ],
    ids=" ".join,
)
def test_nothing_is_lost_doubled_or_stuck(tmp_path: Path, arguments: list[str]) -> None:
    """Exit status 0; speed is not asked for."""
    command = [sys.executable, str(BENCH), "--folder", str(tmp_path), *arguments]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
