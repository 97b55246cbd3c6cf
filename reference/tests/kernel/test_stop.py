"""An end that a signal handler may ask for, and the waits that it cuts short."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from refbus.kernel.stop import Stop

LONG_S = 60.0
NIGHTLY = pytest.mark.nightly
PROGRAMS = {  # that go on until they are told to end; the first two have handlers of their own
    "relay run": "relay --root {} run --no-watch",
    "hold": "worker --store {} hold --as alice task -- sleep 0.2",
    "worker heartbeat": "worker --store {} heartbeat --as alice --every 0.01 working",
    "comms heartbeat": "comms --project {} heartbeat --as alice --every 0.01 active",
    "tail": "worker --store {} tail",
    "export": "worker --store {} export --follow",
    "work": "timeline --store {} work request service=s -- true",
    "serve": "topics --db {}/topics.db serve",
    "web": "topics --db {}/topics.db web --port 0",
}
HANDLERS = "relay run", "hold"


def test_a_ring_ends_one_wait_and_no_pause() -> None:
    """A ring before the wait is heard, too; the end is heard by both."""
    stop = Stop()
    stop.ring()
    stop.wait(LONG_S)
    began = time.monotonic()
    threading.Timer(0.05, stop.ring).start()
    stop.pause(0.2)
    assert time.monotonic() - began >= 0.2
    threading.Timer(0.05, stop.set).start()
    stop.pause(LONG_S)
    stop.wait(LONG_S)
    assert stop.is_set()
    assert time.monotonic() - began < LONG_S


def test_more_rings_than_a_pipe_holds_block_nobody() -> None:
    stop = Stop()
    for _ in range(100_000):
        stop.ring()
    stop.wait(LONG_S)


def test_a_process_with_many_open_files_can_wait() -> None:
    """Descriptors above 1,023."""
    many = [os.dup(1) for _ in range(1_100)]
    try:
        stop = Stop()
        stop.ring()
        stop.wait(LONG_S)
    finally:
        for descriptor in many:
            os.close(descriptor)


@pytest.mark.parametrize(
    ("program", "signal", "places"),
    [
        *((program, "SIGTERM", 20) for program in HANDLERS),
        *(pytest.param(name, signal, 300, marks=NIGHTLY) for name in HANDLERS for signal in ("SIGINT", "SIGHUP")),
        *(pytest.param(name, "SIGTERM", 5_000, marks=NIGHTLY) for name in HANDLERS),
        *(pytest.param(name, "SIGINT", 50, marks=NIGHTLY) for name in PROGRAMS if name not in HANDLERS),
    ],
)
def test_a_signal_at_any_place_ends_a_program(tmp_path: Path, program: str, signal: str, places: int) -> None:
    """Also while the main thread waits: a handler that needs a lock would wait for itself."""
    signalled = Path(__file__).with_name("signalled.py")
    words = PROGRAMS[program].format(tmp_path).split()
    command = [sys.executable, str(signalled), signal, str(places), str(tmp_path), "--", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
