"""The notifier: one thread that watches the file for every sync of this process that waits.

It sleeps until the write-ahead log is written (`kernel.wake`), asks SQLite whether anything was really committed, and
then looks for all subscribers in one snapshot. So a commit that is none of theirs costs each of them one statement,
and wakes nobody.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator
from typing import NamedTuple

from refbus.kernel.errors import BusError
from refbus.kernel.store import Store
from refbus.kernel.transaction import Transaction

Wake = Callable[[], None]
Look = Callable[[Transaction], bool]


class Subscriber(NamedTuple):
    """The way to wake it, and the test for its news."""

    wake: Wake
    sees_news: Look


class Notifier:
    """Wakes, after every commit, the subscribers that see news in it. Its thread runs as long as there are any."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._subscribers: dict[object, Subscriber] = {}
        self._is_watched = False
        self.is_closed = False

    @property
    def subscribers(self) -> list[Subscriber]:
        """All subscribers that wait now."""
        with self._lock:
            return list(self._subscribers.values())

    @contextlib.contextmanager
    def subscribed(self, wake: Wake, sees_news: Look = lambda _tx: True) -> Iterator[None]:
        """Call `wake` after every commit from now on in which `sees_news` is true; both in another thread.

        Earlier commits are not looked at. It wakes as well when the bus is closed, or cannot be read.
        """
        key = object()
        with self._lock:
            self._subscribers[key] = Subscriber(wake, sees_news)
            if not self._is_watched and not self.is_closed:
                self._is_watched = True
                threading.Thread(target=self._watch, daemon=True, name="notifier").start()
        try:
            yield
        finally:
            with self._lock:
                self._subscribers.pop(key, None)

    def close(self) -> None:
        """Wake everybody for the last time. The thread sees it within a second, and is not waited for."""
        self.is_closed = True
        for subscriber in self.subscribers:
            subscriber.wake()

    def _watch(self) -> None:
        seen: int | None = None
        with self._store.waiters.borrow() as waiter:
            while self._has_subscribers():
                present = self._store.version()
                if present != seen:
                    seen = present
                    for subscriber in self._with_news():
                        subscriber.wake()
                waiter.wait(1.0)
        if self.is_closed:
            self._store.waiters.close()

    def _has_subscribers(self) -> bool:
        with self._lock:
            self._is_watched = bool(self._subscribers) and not self.is_closed
            return self._is_watched  # a subscriber that comes after a no starts another thread

    def _with_news(self) -> list[Subscriber]:
        subscribers = self.subscribers
        try:
            with self._store.snapshot() as tx:
                return [subscriber for subscriber in subscribers if subscriber.sees_news(tx)]
        except (BusError, sqlite3.Error):
            return subscribers  # each meets the error itself, where it can be told
