"""The heartbeat thread of an agent: every 10 seconds, whatever the agent waits for."""

from __future__ import annotations

from refbus.kernel.beats import Beats
from refbus.kernel.rules import presence
from refbus.worker.bus import WorkerBus
from refbus.worker.presence import check_beat


class Heartbeat(Beats):
    """Beats for one agent until stopped. Also a context manager."""

    def __init__(self, bus: WorkerBus, agent_id: str, *, interval_ms: int = presence.INTERVAL_MS) -> None:
        super().__init__(bus.heartbeat, agent_id, interval_ms / 1000, status="idle")

    def update(self, status: str, current_task: str | None = None, progress: float | None = None) -> None:
        """Say what the agent does from now on; the next beat is at once. A bad value is the caller's error."""
        check_beat(self._agent_id, status, current_task, progress)
        self._say(status=status, current_task=current_task, progress=progress)
