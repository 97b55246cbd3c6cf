"""The heartbeat thread: an agent that thinks for a minute is not dead.

The thread has its own connection (every thread has) and takes commands over a queue. A beat that fails is logged and
forgotten: the next one comes in ten seconds, and a full disk must not silence an agent for good.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
from typing import Any

from refbus.kernel.errors import BusError
from refbus.kernel.rules import presence
from refbus.worker.bus import WorkerBus
from refbus.worker.presence import check_beat

log = logging.getLogger(__name__)

_STOP = None


class Heartbeat:
    """Beats for one agent until stopped. Also a context manager."""

    def __init__(self, bus: WorkerBus, agent_id: str, *, interval_ms: int = presence.INTERVAL_MS) -> None:
        self._bus, self._agent_id, self._interval_s = bus, agent_id, interval_ms / 1000
        self._commands: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._beat_until_stopped, name=f"heartbeat-{agent_id}", daemon=True)

    def start(self) -> None:
        """Beat now, and from now on."""
        self._thread.start()

    def update(self, status: str, current_task: str | None = None, progress: float | None = None) -> None:
        """Say what the agent does from now on; the next beat is at once. A bad value is the caller's error."""
        check_beat(self._agent_id, status, current_task, progress)
        self._commands.put({"status": status, "current_task": current_task, "progress": progress})

    def stop(self) -> None:
        """End the thread. Idempotent."""
        self._commands.put(_STOP)
        if self._thread.is_alive():
            self._thread.join()

    def __enter__(self) -> Heartbeat:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _beat_until_stopped(self) -> None:
        beat: dict[str, Any] | None = {"status": "idle"}
        while beat is not _STOP:
            try:
                self._bus.heartbeat(agent_id=self._agent_id, **beat)
            except BusError as error:
                log.warning("heartbeat of %s failed: %s: %s", self._agent_id, error.code, error)
            with contextlib.suppress(queue.Empty):
                beat = self._commands.get(timeout=self._interval_s)
