"""The clock that is handed to everything that asks for the time."""

from __future__ import annotations

import time


class Clock:
    """The wall clock, until it is set; from then on it stands still between settings."""

    def __init__(self, now_ms: int | None = None) -> None:
        self._set_ms = now_ms
        self._forward_ms = 0

    def now_ms(self) -> int:
        """Epoch milliseconds."""
        return time.time_ns() // 1_000_000 if self._set_ms is None else self._set_ms

    def now_us(self) -> int:
        """Epoch microseconds."""
        return time.time_ns() // 1_000 if self._set_ms is None else self._set_ms * 1_000

    def monotonic_ns(self) -> int:
        """A time that never goes back: for a clock that is set, the sum of its moves forward."""
        return time.monotonic_ns() if self._set_ms is None else self._forward_ms * 1_000_000

    def set(self, now_ms: int | None) -> None:
        """Stand still at `now_ms`; None: follow the wall clock again."""
        if now_ms is not None and self._set_ms is not None:
            self._forward_ms += max(0, now_ms - self._set_ms)
        self._set_ms = now_ms
