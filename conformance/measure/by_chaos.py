"""The verdict of `busproof chaos` on a bus that `busproof check` did not refuse: both measures ask it of survivors."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

# As the bus declares itself, and as one that promises to survive a power cut: a forgotten sync is seen there.
ASKED = ([], ["--power", "300", "--option", "synchronous=FULL", "--durability", "power-loss"])
VERDICTS = {0: "valid", 1: "invalid"}  # by exit code; any other: unknown


def asked_of_chaos(system: str, bus: str, environment: dict[str, str] | None = None) -> tuple[str, list[str]]:
    """(valid, invalid or unknown; the MUST rows of the first problem). Minutes."""
    verdicts = set[str]()
    for options in ASKED:
        with tempfile.TemporaryDirectory() as folder:
            argv = [sys.executable, "-m", "buschaos.cli", system, "--bus", bus, "--seed", "1", "--out", folder]
            argv += ["--stop-after", "1", *options]
            code = subprocess.run(argv, env=environment, stdout=sys.stderr, check=False).returncode
            verdicts.add(VERDICTS.get(code, "unknown"))
            if code == 1:
                lines = (Path(folder) / "report.jsonl").read_text(encoding="utf-8").splitlines()
                rows = [json.loads(line) for line in lines]
                return "invalid", sorted({row["requirement"] for row in rows if row.get("outcome") == "fail"})
    return "unknown" if "unknown" in verdicts else "valid", []
