"""The processing loop: poll, handle, acknowledge, and rest in between, longer and longer while nothing comes.

The pause after a poll (200 ms, growing by half to 2 s, short again after messages) is a wait, not a sleep: a new
message ends it at once.
"""

from __future__ import annotations

import logging

from refbus.kernel.errors import BusError
from refbus.kernel.rules import retry
from refbus.kernel.stop import Stop
from refbus.worker.bus import WorkerBus
from refbus.worker.retry import Handler

log = logging.getLogger(__name__)


class Loop:
    """Hands an agent's messages to a handler, at least once each, until stopped."""

    def __init__(self, bus: WorkerBus, agent_id: str, handler: Handler, *, limit: int = 100) -> None:
        self._bus, self._agent_id, self._handler, self._limit = bus, agent_id, handler, limit
        self._stopping = Stop()
        self.interval_ms = retry.POLL_ACTIVE_MS

    def run(self) -> None:
        """Process until `stop` is called: from the handler, from another thread, or from a signal handler."""
        wait_ms = 0.0
        while not self._stopping.is_set():
            wait_ms = self.step(wait_ms)

    def stop(self) -> None:
        """Let the loop end after the message in hand, within one pause."""
        self._stopping.set()

    def step(self, wait_ms: float = 0.0) -> float:
        """One pass; returns how long the next one may wait for a message."""
        try:
            handled, failed, error = self._bus.process(
                self._agent_id,
                self._handler,
                limit=self._limit,
                wait_ms=round(wait_ms),
                is_stopped=self._stopping.is_set,
            )
        except BusError as fault:
            log.warning("%s could not go on: %s: %s", self._agent_id, fault.code, fault)
            self._stopping.pause(retry.POLL_ACTIVE_MS / 1000)
            return self._pause(has_messages=False)
        if failed is not None:
            log.error("failed to process %s: %r", failed, error)
            # The message is still there, so a wait would end at once: this pause is a real one.
            self._stopping.pause(retry.POLL_ACTIVE_MS / 1000)
        return self._pause(has_messages=bool(handled) or failed is not None)

    def _pause(self, *, has_messages: bool) -> float:
        self.interval_ms = retry.next_poll_ms(self.interval_ms, has_messages)
        return self.interval_ms
