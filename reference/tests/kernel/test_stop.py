"""An end that a signal handler may ask for, and the waits that it cuts short."""

from __future__ import annotations

import os
import threading
import time

from refbus.kernel.stop import Stop

LONG_S = 60.0


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
