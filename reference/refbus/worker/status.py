"""The status query, as the seed gives it, with the column that exists (W13)."""

from __future__ import annotations

from typing import Any

from refbus.kernel import jsontext
from refbus.kernel.rules import limit as limits
from refbus.worker.store import Store


class Status(Store):
    """status."""

    def status(self, limit: int = 100) -> dict[str, Any]:
        """The newest state changes and heartbeat messages, newest first."""
        limits.integer("limit", limit)
        rows = self.db.rows(
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


def _readable(text: Any) -> Any:
    try:
        return None if text is None else jsontext.decode(text)
    except ValueError:
        return None
