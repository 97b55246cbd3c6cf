"""The bell: one thread that watches the file for every sync of this process that waits.

It sleeps until the write-ahead log is written (`kernel.wake`), asks SQLite whether anything was really committed, and
then rings for all who wait. Each looks for itself whether the news are its own, so the bell knows nothing of topics.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

from refbus.kernel.wake import Waiters

Ring = Callable[[], None]


class Bell:
    """Rings after every commit, as long as anybody listens."""

    def __init__(self, waiters: Waiters, version: Callable[[], int]) -> None:
        self._waiters, self._version = waiters, version
        self._lock = threading.Lock()
        self._rings: dict[object, Ring] = {}
        self._is_watched = False
        self.is_closed = False

    @contextlib.contextmanager
    def heard(self, ring: Ring) -> Iterator[None]:
        """Call `ring` after every commit from now on. It may also ring for nothing, and rings in another thread."""
        ear = object()
        with self._lock:
            self._rings[ear] = ring
            if not self._is_watched and not self.is_closed:
                self._is_watched = True
                threading.Thread(target=self._watch, daemon=True, name="bell").start()
        try:
            yield
        finally:
            with self._lock:
                self._rings.pop(ear, None)

    def close(self) -> None:
        """Ring for the last time. The thread sees it within a second, and is not waited for."""
        self.is_closed = True
        self._ring()

    def _watch(self) -> None:
        seen: int | None = None
        with self._waiters.borrow() as waiter:
            while self._has_listeners():
                present = self._version()
                if present != seen:
                    seen = present
                    self._ring()
                waiter.wait(1.0)
        if self.is_closed:
            self._waiters.close()

    def _has_listeners(self) -> bool:
        with self._lock:
            self._is_watched = bool(self._rings) and not self.is_closed
            return self._is_watched  # who comes after a no starts another thread

    def _ring(self) -> None:
        with self._lock:
            rings = list(self._rings.values())
        for ring in rings:
            ring()
