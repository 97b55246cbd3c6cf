"""Waking readers: sleep until another process may have committed.

On Linux one inotify watch on the store's folder sees every write to the write-ahead log, also when that file is
deleted and made anew. Registered before the reader's query, it misses nothing that comes after.

One gap remains: SQLite makes a commit visible (in shared memory, which no watch sees) a moment *after* its last
write to the file. So an event is followed by a few looks at growing distance, from 0.1 ms to 25 ms, and every sleep
ends after a second at the latest, in case the writer was stopped inside the gap.

Elsewhere a reader just looks again, every 1 to 20 ms; a look is a query on an index and costs some microseconds.
"""

from __future__ import annotations

import select
import time
from pathlib import Path

try:
    import inotify_simple
except ImportError:  # not Linux
    inotify_simple = None

FIRST_LOOK_S, LAST_LOOK_S = 0.0001, 0.025
SLEEP_S_MAX = 1.0
BLIND_FIRST_S, BLIND_LAST_S = 0.001, 0.020


class Waiter:
    """One reader's alarm. Make it, query, and only then `wait`; query again after every `wait`."""

    def __init__(self, folder: Path, wal_name: str) -> None:
        self._wal_name = wal_name
        self._next_look_s: float | None = None
        self._blind_s = BLIND_FIRST_S
        self._watch = _watch(folder)
        if self._watch is not None:
            self._events = select.poll()
            self._events.register(self._watch.fileno(), select.POLLIN)

    def wait(self, timeout_s: float) -> None:
        """Return when something may have been committed, or after timeout_s, or for a routine look."""
        if self._watch is None:
            time.sleep(min(timeout_s, self._blind_s))
            self._blind_s = min(self._blind_s * 1.5, BLIND_LAST_S)
            return
        if self._next_look_s is not None:
            time.sleep(min(timeout_s, self._next_look_s))
            self._next_look_s = self._next_look_s * 2 if self._next_look_s < LAST_LOOK_S else None
            return
        deadline = time.monotonic() + min(timeout_s, SLEEP_S_MAX)
        while (left_s := deadline - time.monotonic()) > 0:
            if self._events.poll(left_s * 1000) and self._is_log_written():
                self._next_look_s = FIRST_LOOK_S
                return

    def close(self) -> None:
        """Give the watch back."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def _is_log_written(self) -> bool:
        assert self._watch is not None
        # An overflowed queue names no file; it stands for anything.
        return any(event.name in (self._wal_name, "") for event in self._watch.read(timeout=0))


def _watch(folder: Path) -> inotify_simple.INotify | None:
    if inotify_simple is None:
        return None
    try:
        watch = inotify_simple.INotify()
    except OSError:  # the user's limit on watches is reached
        return None
    try:
        watch.add_watch(folder, inotify_simple.flags.MODIFY | inotify_simple.flags.CREATE)
    except OSError:
        watch.close()
        return None
    return watch
