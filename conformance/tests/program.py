"""The command line as a user runs it, in a process of its own, less the second that its imports take."""

from __future__ import annotations

import atexit
import functools
import subprocess
from pathlib import Path

from busproof.bus.forked import COMMAND
from busproof.bus.warm import Warm


@functools.cache
def _warm() -> Warm:
    warm = Warm([f"busproof.{part}" for part in ("run.check", "run.doctor", "run.replay", "pages.draft")])
    atexit.register(warm.close)
    return warm


def busproof(*argv: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run it, and return how it ended and what it printed."""
    command = [*COMMAND, _warm().path, "-m", "busproof", *argv]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)
