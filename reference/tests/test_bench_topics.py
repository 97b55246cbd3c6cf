"""The load of topics in its short form: what it judges besides speed holds, and it still runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parents[1] / "bench" / "topics.py"


def test_nothing_is_lost_doubled_or_stuck(tmp_path: Path) -> None:
    """Exit status 0; speed is not asked for."""
    arguments = ["load", "--sessions", "3", "--topics", "2", "--messages", "120", "--history", "history.jsonl"]
    command = [sys.executable, str(BENCH), "--folder", str(tmp_path), *arguments]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
