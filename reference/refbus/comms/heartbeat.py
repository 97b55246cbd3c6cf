"""The heartbeat thread of an agent: it beats every 30 s, and removes expired messages every minute."""

from __future__ import annotations

import math
import time
from typing import Any

from refbus.comms.bus import CommsBus
from refbus.comms.presence import check_beat
from refbus.kernel.beats import Beats

INTERVAL_S, CLEANUP_S = 30.0, 60.0


class Heartbeat(Beats):
    """Beats for one agent, and removes expired messages, until stopped. Also a context manager."""

    def __init__(self, bus: CommsBus, agent_id: str, *, interval_s: float = INTERVAL_S) -> None:
        self._bus, self._cleaned_s = bus, -math.inf
        super().__init__(self._beat_and_clean_up, agent_id, interval_s, status="active")

    def update(self, status: str, current_task: str | None = None) -> None:
        """Say what the agent does from now on; the next beat is at once. A bad value is the caller's error."""
        check_beat(self._agent_id, status, current_task)
        self._say(status=status, current_task=current_task)

    def _beat_and_clean_up(self, **values: Any) -> None:
        self._bus.send_heartbeat(**values)
        if time.monotonic() - self._cleaned_s >= CLEANUP_S:
            self._bus.cleanup_expired_messages()
            self._cleaned_s = time.monotonic()
