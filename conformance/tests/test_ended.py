"""A run that is ended leaves nothing that runs on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from conformance.tests.test_hostile_buses import has, still_there

STARTED = 8  # processes: by then the suite plays
START_S = 60.0


def marked(mark: str) -> int:
    """The number of processes with the mark."""
    return sum(has(process, mark) for process in Path("/proc").glob("[0-9]*"))


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=lambda how: how.name)
def test_who_ends_a_check_ends_all_that_it_started(tmp_path: Path, how: signal.Signals) -> None:
    """As CI does when a job takes too long: nobody is left to use up the machine."""
    mark = uuid.uuid4().hex
    check = subprocess.Popen(
        [sys.executable, "-m", "busproof", "check", "worker", "--out", str(tmp_path / "out"), "-j", "2"],
        env={**os.environ, "BUSPROOF_TEST_MARK": mark},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline, most = time.monotonic() + START_S, 0
    while most < STARTED and time.monotonic() < deadline:
        most = max(most, marked(mark))
        time.sleep(0.05)
    assert most >= STARTED
    check.send_signal(how)
    _, errors = check.communicate(timeout=120)
    assert still_there(mark) == []
    if how is signal.SIGTERM:
        assert check.returncode == 2 and "interrupted" in errors
