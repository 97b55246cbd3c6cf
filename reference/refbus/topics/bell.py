"""The bell: one thread that watches the file for every sync of this process that waits.

It sleeps until the write-ahead log is written (`kernel.wake`), asks SQLite whether anything was really committed, and
then looks for all who wait, in one snapshot. So a commit that is none of theirs costs each of them one statement, and
wakes nobody.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator
from typing import NamedTuple

from refbus.kernel.errors import BusError
from refbus.kernel.wake import Waiters

Ring = Callable[[], None]
Look = Callable[[sqlite3.Connection], bool]
Snapshot = Callable[[], contextlib.AbstractContextManager[sqlite3.Connection]]


class Ear(NamedTuple):
    """One who listens: how it is rung, and what it waits for."""

    ring: Ring
    look: Look


class Bell:
    """Rings after every commit for those who see news in it, as long as anybody listens."""

    def __init__(self, waiters: Waiters, version: Callable[[], int], snapshot: Snapshot) -> None:
        self._waiters, self._version, self._snapshot = waiters, version, snapshot
        self._lock = threading.Lock()
        self._ears: dict[object, Ear] = {}
        self._is_watched = False
        self.is_closed = False

    @contextlib.contextmanager
    def heard(self, ring: Ring, look: Look = lambda _connection: True) -> Iterator[None]:
        """Call `ring` after every commit from now on in which `look` sees news; both in another thread.

        What was committed before is not looked at. It rings as well when the bus is closed, or cannot be read.
        """
        ear = object()
        with self._lock:
            self._ears[ear] = Ear(ring, look)
            if not self._is_watched and not self.is_closed:
                self._is_watched = True
                threading.Thread(target=self._watch, daemon=True, name="bell").start()
        try:
            yield
        finally:
            with self._lock:
                self._ears.pop(ear, None)

    def close(self) -> None:
        """Ring for the last time. The thread sees it within a second, and is not waited for."""
        self.is_closed = True
        for ear in self._all_ears():
            ear.ring()

    def _watch(self) -> None:
        seen: int | None = None
        with self._waiters.borrow() as waiter:
            while self._has_listeners():
                present = self._version()
                if present != seen:
                    seen = present
                    for ear in self._with_news():
                        ear.ring()
                waiter.wait(1.0)
        if self.is_closed:
            self._waiters.close()

    def _has_listeners(self) -> bool:
        with self._lock:
            self._is_watched = bool(self._ears) and not self.is_closed
            return self._is_watched  # who comes after a no starts another thread

    def _with_news(self) -> list[Ear]:
        ears = self._all_ears()
        try:
            with self._snapshot() as connection:
                return [ear for ear in ears if ear.look(connection)]
        except (BusError, sqlite3.Error):
            return ears  # each meets the error itself, where it can be told

    def _all_ears(self) -> list[Ear]:
        with self._lock:
            return list(self._ears.values())
