"""Presence: one heartbeat row for each agent, and what its age says."""

from __future__ import annotations

from typing import Any

from refbus.kernel.errors import InvalidArgument
from refbus.kernel.rules import limit as limits
from refbus.kernel.rules import presence
from refbus.worker.store import Store


class Presence(Store):
    """heartbeat and liveness."""

    def heartbeat(
        self, agent_id: str, status: str, current_task: str | None = None, progress: float | None = None
    ) -> dict[str, Any]:
        """Say that the agent lives, and what it does."""
        check_beat(agent_id, status, current_task, progress)
        self.db.write(_BEAT, (agent_id, self._now_ms(), status, current_task, progress))
        return {}

    def liveness(self) -> dict[str, Any]:
        """Every agent that ever sent a heartbeat, with its state now."""
        rows = self.db.rows("SELECT agent_id, ts_ms, status, current_task, progress FROM heartbeats ORDER BY agent_id")
        now_ms = self._now_ms()
        return {
            "agents": [
                {
                    "agent_id": agent_id,
                    "ts_ms": ts_ms,
                    "age_ms": now_ms - ts_ms,
                    "state": presence.state(now_ms - ts_ms),
                    "status": status,
                    "current_task": current_task,
                    "progress": progress,
                }
                for agent_id, ts_ms, status, current_task, progress in rows
            ]
        }


def check_beat(agent_id: object, status: object, current_task: object, progress: object) -> None:
    """Refuse what is no heartbeat."""
    limits.name("agent_id", agent_id)
    if limits.text("status", status) not in presence.STATUSES:
        raise InvalidArgument(f"status must be one of {', '.join(presence.STATUSES)}, not {status!r:.40}")
    if current_task is not None:
        limits.text("current_task", current_task)
    if progress is not None:
        limits.number("progress", progress)


_BEAT = """
    INSERT INTO heartbeats (agent_id, ts_ms, status, current_task, progress) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (agent_id) DO UPDATE SET
        ts_ms = excluded.ts_ms,
        status = excluded.status,
        current_task = excluded.current_task,
        progress = excluded.progress
"""
