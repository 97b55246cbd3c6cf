"""Waking readers: sleep until another process may have committed.

On Linux one inotify watch on the store's folder sees every write to the write-ahead log, also when that file is
deleted and made anew. Registered before the reader's query, it misses nothing that comes after.

One gap remains: SQLite makes a commit visible (in shared memory, which no watch sees) a moment *after* its last
write to the file. So an event is followed by a few looks at growing distance, from 0.1 ms to 25 ms, and every sleep
ends after a second at the latest, in case the writer was stopped inside the gap.

A look asks only for the file's version, which changes with every commit; the reader's query runs if it has changed.
Twenty readers are woken by every write to anybody, and mostly for nothing.

A watch is kept and used again: closing one costs the kernel some 10 ms, more than all the rest.

Elsewhere a reader just looks again, every 1 to 20 ms; a look costs some microseconds.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import select
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

FIRST_LOOK_S, LAST_LOOK_S = 0.0001, 0.025
SLEEP_S_MAX = 1.0
BLIND_FIRST_S, BLIND_LAST_S = 0.001, 0.020
IN_MODIFY, IN_CREATE = 0x2, 0x100  # inotify(7)
_EVENT = struct.Struct("iIII")  # watch, mask, cookie, and the length of the name that follows


class Watch:
    """One inotify watch on a folder. OSError: the user's limit is reached; AttributeError: this is not Linux."""

    def __init__(self, folder: Path, mask: int = IN_MODIFY | IN_CREATE) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")
        if libc.inotify_add_watch(self.fd, os.fsencode(folder), mask) < 0:
            self.close()
            raise OSError(ctypes.get_errno(), "inotify_add_watch")

    def names(self) -> list[str]:
        """The files of all events since the last call; an overflowed queue tells of one without a name."""
        files: list[str] = []
        with contextlib.suppress(BlockingIOError):
            while events := os.read(self.fd, 64 * 1024):
                while events:
                    *_, length = _EVENT.unpack_from(events)
                    name, events = events[_EVENT.size :][:length], events[_EVENT.size + length :]
                    files.append(os.fsdecode(name.rstrip(b"\0")))
        return files

    def close(self) -> None:
        """Give it back."""
        os.close(self.fd)


class Waiter:
    """One reader's alarm. `reset` it, query, and only then `wait`; query again after every `wait`."""

    def __init__(self, folder: Path, file_name: str, version: Callable[[], int]) -> None:
        self._file_name, self._version = file_name, version
        self._watch = _watch(folder)
        self._events = select.poll()
        if self._watch is not None:
            self._events.register(self._watch.fd, select.POLLIN)
        try:
            self.reset()
        except BaseException:
            self.close()
            raise

    def reset(self) -> None:
        """Forget what was written up to now."""
        self._look_s: float | None = None
        self._blind_s = BLIND_FIRST_S
        if self._watch is not None:
            self._watch.names()
        self._seen = self._version()

    def wait(self, timeout_s: float) -> None:
        """Return when something was committed since the last `reset` or `wait`, or after timeout_s, or a second."""
        deadline = time.monotonic() + min(timeout_s, SLEEP_S_MAX)
        while not self._is_changed() and (left_s := deadline - time.monotonic()) > 0:
            self._pause(left_s)

    def _is_changed(self) -> bool:
        before, self._seen = self._seen, self._version()
        return self._seen != before

    def _pause(self, timeout_s: float) -> None:
        """Sleep until the next look."""
        if self._watch is None:
            time.sleep(min(timeout_s, self._blind_s))
            self._blind_s = min(self._blind_s * 1.5, BLIND_LAST_S)
        elif self._look_s is not None:
            self._wait_for_next_look(timeout_s)
        else:
            self._wait_for_event(timeout_s)

    def close(self) -> None:
        """Give the watch back."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def _wait_for_event(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while (left_s := deadline - time.monotonic()) > 0:
            if self._events.poll(left_s * 1000) and self._is_written():
                self._look_s = FIRST_LOOK_S
                return

    def _wait_for_next_look(self, timeout_s: float) -> None:
        assert self._look_s is not None
        pause_s = min(timeout_s, self._look_s)
        self._look_s = self._look_s * 2 if self._look_s < LAST_LOOK_S else None
        # poll() counts in whole milliseconds; a shorter time is slept, and no event can be missed by that.
        if pause_s < 0.001:
            time.sleep(pause_s)
        elif self._events.poll(pause_s * 1000) and self._is_written():
            self._look_s = FIRST_LOOK_S

    def _is_written(self) -> bool:
        assert self._watch is not None
        return any(name in (self._file_name, "") for name in self._watch.names())


class Waiters:
    """The alarms of all threads of one process, kept for the next wait."""

    def __init__(self, folder: Path, file_name: str, version: Callable[[], int]) -> None:
        self._new = functools.partial(Waiter, folder, file_name, version)
        self._lock = threading.Lock()
        self._idle: list[Waiter] = []
        self._pid = os.getpid()

    @contextlib.contextmanager
    def borrow(self) -> Iterator[Waiter]:
        """A waiter for one reader, fresh."""
        with self._lock:
            if self._pid != os.getpid():  # a forked child would take its parent's events
                self._pid, self._idle = os.getpid(), []
            waiter = self._idle.pop() if self._idle else self._new()
        try:
            waiter.reset()
            yield waiter
        finally:
            with self._lock:
                self._idle.append(waiter)

    def close(self) -> None:
        """Close those that nobody uses."""
        with self._lock:
            while self._idle:
                self._idle.pop().close()


def _watch(folder: Path) -> Watch | None:
    try:
        return Watch(folder)
    except (OSError, AttributeError):
        return None
