"""The heartbeat thread: an agent that thinks for a minute is not dead.

The thread has its own connection (every thread has) and takes commands over a queue. A beat that fails is logged and
forgotten: the next one comes in time, and a full disk must not silence an agent for good.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
from collections.abc import Callable
from typing import Any, Self

from refbus.kernel.errors import BusError
from refbus.kernel.rules import limit as limits

log = logging.getLogger(__name__)

_STOP = None


class Beats:
    """Calls `beat` for one agent, with what it said last, until stopped. Also a context manager."""

    def __init__(self, beat: Callable[..., object], agent_id: str, interval_s: float, **first: Any) -> None:
        self._interval_s = limits.number(
            "the interval of a heartbeat, in seconds,", interval_s, 0.001, threading.TIMEOUT_MAX
        )
        self._beat, self._agent_id, self._first = beat, agent_id, first
        self._commands: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._beat_until_stopped, name=f"heartbeat-{agent_id}", daemon=True)

    def start(self) -> None:
        """Beat now, and from now on."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread. Idempotent."""
        self._commands.put(_STOP)
        if self._thread.is_alive():
            self._thread.join()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _say(self, **values: Any) -> None:
        """The next beat, at once, and all others say this."""
        self._commands.put(values)

    def _beat_until_stopped(self) -> None:
        values: dict[str, Any] | None = self._first
        while values is not _STOP:
            try:
                self._beat(agent_id=self._agent_id, **values)
            except BusError as error:
                log.warning("heartbeat of %s failed: %s: %s", self._agent_id, error.code, error)
            with contextlib.suppress(queue.Empty):
                values = self._commands.get(timeout=self._interval_s)
