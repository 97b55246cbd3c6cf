"""What `busproof chaos` finds in a bus that `busproof check` did not refuse: both measures ask it of a survivor."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

# As the bus declares itself, and as one that promises to survive a power cut: what this forgets to sync is seen there.
ASKED = ([], ["--power", "300", "--option", "synchronous=FULL", "--durability", "power-loss"])


def broken_by_chaos(system: str, bus: str, environment: dict[str, str] | None = None) -> list[str]:
    """The rows of the first problem; none where chaos finds none, or cannot be played. Minutes."""
    for options in ASKED:
        with tempfile.TemporaryDirectory() as folder:
            argv = [sys.executable, "-m", "buschaos.cli", system, "--bus", bus, "--seed", "1", "--out", folder]
            subprocess.run([*argv, "--stop-after", "1", *options], env=environment, stdout=sys.stderr, check=False)
            report = Path(folder) / "report.jsonl"
            lines = report.read_text(encoding="utf-8").splitlines() if report.exists() else []
            told = [json.loads(line) for line in lines]
            if rows := sorted({one["requirement"] for one in told if one.get("outcome") == "fail"}):
                return rows
    return []
