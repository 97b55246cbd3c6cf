"""The benches in their short form: what they judge besides speed holds, and they still run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[1] / "bench"


@pytest.mark.parametrize(
    "arguments",
    [
        ["comms", "race", "--processes", "4", "--messages", "200"],
        ["comms", "race", "--processes", "4", "--messages", "200", "--kill-every-ms", "50"],
        ["comms", "agents", "--agents", "4", "--messages", "50", "--history", "history.jsonl"],
        ["comms", "latency", "--messages", "20", "--idle-s", "0.1", "--waiting", "1"],
        ["relay", "latency", "--messages", "3"],
        ["relay", "scan", "--agents", "10", "--files", "3"],
        ["relay", "idle", "--agents", "3", "--archived", "50"],
        ["relay", "writers", "--writers", "3", "--messages", "20"],
        ["timeline", "workers", "--workers", "2", "--timelines", "3", "--requests", "20"],
        ["timeline", "latency", "--messages", "20"],
        ["timeline", "kills", "--backends", "sqlite", "--invokes", "24", "--kill-every-ms", "500"],
        ["timeline", "growth", "--stored", "2500", "--rounds", "2"],
        ["topics", "load", "--sessions", "3", "--topics", "2", "--messages", "120", "--history", "history.jsonl"],
    ],
    ids=" ".join,
)
def test_nothing_is_lost_doubled_or_stuck(tmp_path: Path, arguments: list[str]) -> None:
    """Exit status 0; speed is not asked for."""
    system, *rest = arguments
    command = [sys.executable, str(BENCH / f"{system}.py"), "--folder", str(tmp_path), *rest]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
