"""A pulse: a thread that sleeps and wakes, and so bears witness that the machine gave its processes their time.

A sleep that is too long on a busy machine may excuse a miss; if the kit itself woke on time, nothing does.
"""

from __future__ import annotations

import itertools
import threading
import time
from types import TracebackType
from typing import Self

BEAT_S = 0.02
PAUSE_S_MAX = 0.25


class Pulse:
    """Beats from `with` to its end."""

    def __init__(self) -> None:
        self._beats: list[float] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._is_over.set()
        self._thread.join()

    def was_steady(self, since_s: float, until_s: float) -> bool:
        """Was no pause long, between two moments of the monotonic clock?"""
        beats = [since_s, *(beat for beat in self._beats if since_s < beat < until_s), until_s]
        return all(after - before < PAUSE_S_MAX for before, after in itertools.pairwise(beats))

    def _beat(self) -> None:
        while not self._is_over.wait(BEAT_S):
            self._beats.append(time.monotonic())
