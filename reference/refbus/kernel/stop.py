"""The end of a loop, and a bell beside it: both may be rung by a signal handler.

A handler runs in the middle of whatever the main thread does. `threading.Event.set` takes a lock, which the main thread
may hold inside `Event.wait`, and then neither goes on. A flag and a byte in a pipe take no lock.
"""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections.abc import Callable
from typing import Any

from refbus.kernel.errors import BusError
from refbus.kernel.rules import retry


class Stop:
    """A request to end, and a wait that the request or a ring cuts short."""

    def __init__(self) -> None:
        self._is_set = False
        self._reads, self._writes = os.pipe()
        os.set_blocking(self._reads, False)
        os.set_blocking(self._writes, False)
        self._rings = select.poll()  # not select(), which takes no descriptor above 1,023
        self._rings.register(self._reads, select.POLLIN)

    def __del__(self) -> None:
        os.close(self._reads)
        os.close(self._writes)

    def is_set(self) -> bool:
        """Was the end asked for?"""
        return self._is_set

    def set(self) -> None:
        """Ask for the end, for good."""
        self._is_set = True
        self.ring()

    def ring(self) -> None:
        """End the wait that is under way, or else the next one."""
        with contextlib.suppress(BlockingIOError):  # a pipe that is full of rings
            os.write(self._writes, b"\0")

    def wait(self, timeout_s: float) -> None:
        """Return after the time, or at a ring, or at once if the end was asked for."""
        if not self._is_set:
            self._rings.poll(max(0.0, 1000 * timeout_s))
        self.hush()

    def hush(self) -> None:
        """Forget rings that no wait has heard."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self._reads, 4096):
                pass

    def pause(self, timeout_s: float) -> None:
        """Wait out the time, whatever rings; only the end is earlier."""
        deadline = time.monotonic() + timeout_s
        while not self._is_set and (left_s := deadline - time.monotonic()) > 0:
            self.wait(left_s)

    def repeat(
        self, step: Callable[[], object], tell: Callable[[Any], object], errors: type[Exception] = BusError
    ) -> None:
        """Take a step, again and again, until the end. One that failed is told, and the next one comes later."""
        failures = 0
        while not self._is_set:
            try:
                step()
                failures = 0
            except errors as error:
                tell(error)
                self.pause(retry.failure_pause_s(failures))
                failures += 1
