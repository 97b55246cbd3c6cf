"""Presence: one heartbeat row for each agent, the state by its age, and the agents' newest words on themselves."""

from __future__ import annotations

from typing import Any

from refbus.kernel import jsontext
from refbus.kernel.rules import limit as limits
from refbus.kernel.rules import presence
from refbus.worker.replies import Agents, Nothing, StatusRows
from refbus.worker.signing import Signatures
from refbus.worker.store import Store


class Presence:
    """heartbeat, liveness and status."""

    def __init__(self, store: Store, signatures: Signatures) -> None:
        self._store, self._signatures = store, signatures

    def heartbeat(
        self, agent_id: str, status: str, current_task: str | None = None, progress: float | None = None
    ) -> Nothing:
        """Say that the agent lives and what it does. `status`: idle, working or blocked. Errors: INVALID_ARGUMENT."""
        check_beat(agent_id, status, current_task, progress)
        self._store.db.write(_BEAT, (agent_id, self._store.clock.now_ms(), status, current_task, progress))
        return {}

    def liveness(self) -> Agents:
        """Every agent that ever sent a heartbeat, with its state now; a row without a time is no heartbeat."""
        rows = self._store.db.rows(
            """
            SELECT agent_id, ts_ms, status, current_task, progress FROM heartbeats
            WHERE typeof(ts_ms) = 'integer' ORDER BY agent_id
            """
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
        """The newest state_change and heartbeat messages, newest first (W13); payloads only where they can be read.

        Errors: INVALID_ARGUMENT.
        """
        limits.integer("limit", limit)
        rows = self._store.db.rows(
            """
            SELECT seq, id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload, payload_ref
            FROM messages WHERE type IN ('heartbeat', 'state_change')
            ORDER BY seq DESC LIMIT ?
            """,
            (limit,),
        )
        return {
            "rows": [
                {"from_agent": row[3], "type": row[5], "ts_ms": row[2], "payload": self._readable(row)} for row in rows
            ]
        }

    def _readable(self, row: tuple[Any, ...]) -> Any:
        text = row[8]
        try:
            return jsontext.decode(text) if text is not None and self._signatures.is_good(row) else None
        except ValueError:
            return None


def check_beat(agent_id: object, status: object, current_task: object, progress: object) -> None:
    """Refuse values that are no heartbeat."""
    limits.name("agent_id", agent_id)
    limits.one_of("status", status, presence.STATUSES)
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
