"""Presence: one heartbeat row for each agent, what its age says, and the newest of what agents say of themselves."""

from __future__ import annotations

from typing import Any

from refbus.kernel import jsontext
from refbus.kernel.rules import limit as limits
from refbus.kernel.rules import presence
from refbus.worker.replies import Agents, Nothing, StatusRows
from refbus.worker.store import Store


class Presence:
    """heartbeat, liveness and status."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def heartbeat(
        self, agent_id: str, status: str, current_task: str | None = None, progress: float | None = None
    ) -> Nothing:
        """Say that the agent lives, and what it does. `status`: idle, working or blocked. Errors: INVALID_ARGUMENT."""
        check_beat(agent_id, status, current_task, progress)
        self._store.db.write(_BEAT, (agent_id, self._store.clock.now_ms(), status, current_task, progress))
        return {}

    def liveness(self) -> Agents:
        """Every agent that ever sent a heartbeat, with its state now."""
        rows = self._store.db.rows(
            "SELECT agent_id, ts_ms, status, current_task, progress FROM heartbeats ORDER BY agent_id"
        )
        now_ms = self._store.clock.now_ms()
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

    def status(self, limit: int = 100) -> StatusRows:
        """The newest state_change and heartbeat messages, newest first (W13). Errors: INVALID_ARGUMENT."""
        limits.integer("limit", limit)
        rows = self._store.db.rows(
            """
            SELECT from_agent, type, ts_ms, payload FROM messages
            WHERE type IN ('heartbeat', 'state_change')
            ORDER BY seq DESC LIMIT ?
            """,
            (limit,),
        )
        return {
            "rows": [
                {"from_agent": from_agent, "type": type_, "ts_ms": ts_ms, "payload": _readable(text)}
                for from_agent, type_, ts_ms, text in rows
            ]
        }


def check_beat(agent_id: object, status: object, current_task: object, progress: object) -> None:
    """Refuse what is no heartbeat."""
    limits.name("agent_id", agent_id)
    limits.one_of("status", status, presence.STATUSES)
    if current_task is not None:
        limits.text("current_task", current_task)
    if progress is not None:
        limits.number("progress", progress)


def _readable(text: Any) -> Any:
    try:
        return None if text is None else jsontext.decode(text)
    except ValueError:
        return None


_BEAT = """
    INSERT INTO heartbeats (agent_id, ts_ms, status, current_task, progress) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (agent_id) DO UPDATE SET
        ts_ms = excluded.ts_ms,
        status = excluded.status,
        current_task = excluded.current_task,
        progress = excluded.progress
"""
