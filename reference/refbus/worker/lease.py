"""Claims: one holder for the name of a task, for as long as its lease lives."""

from __future__ import annotations

import sqlite3
from typing import Any

from refbus.kernel.rules import lease
from refbus.kernel.rules import limit as limits
from refbus.worker.store import Store


class Claims(Store):
    """try_claim_task, renew_claim and release_claim; `kernel.lease` decides."""

    def try_claim_task(self, task_id: str, agent_id: str) -> dict[str, Any]:
        """Take the task's lease. False means exactly that somebody holds a live one (W8)."""
        _check_names(task_id, agent_id)
        with self.db.transaction() as connection:
            now_ms = self._now_ms()
            claim = self._claim(connection, task_id)
            if not lease.may_take(claim, now_ms):
                return {"claimed": False}
            token = lease.next_token(self._latest_token(connection, task_id))
            lease_until_ms = now_ms + self.lease_ms
            connection.execute(
                """
                INSERT OR REPLACE INTO task_claims (task_id, claimed_by, claimed_at_ms, lease_until_ms)
                VALUES (?, ?, ?, ?)
                """,
                (task_id, agent_id, now_ms, lease_until_ms),
            )
            connection.execute("INSERT OR REPLACE INTO task_tokens (task_id, token) VALUES (?, ?)", (task_id, token))
        return {"claimed": True, "token": token, "lease_until_ms": lease_until_ms}

    def renew_claim(self, task_id: str, agent_id: str, token: int | None = None) -> dict[str, Any]:
        """Extend the lease. Allowed after expiry while nobody retook it (W9)."""
        _check_names(task_id, agent_id, token)
        with self.db.transaction() as connection:
            if not lease.may_keep(self._claim(connection, task_id), agent_id, token):
                return {"renewed": False}
            lease_until_ms = self._now_ms() + self.lease_ms
            connection.execute("UPDATE task_claims SET lease_until_ms = ? WHERE task_id = ?", (lease_until_ms, task_id))
        return {"renewed": True, "lease_until_ms": lease_until_ms}

    def release_claim(self, task_id: str, agent_id: str, token: int | None = None) -> dict[str, Any]:
        """Give the task back. Somebody else's claim stays untouched."""
        _check_names(task_id, agent_id, token)
        with self.db.transaction() as connection:
            if not lease.may_keep(self._claim(connection, task_id), agent_id, token):
                return {"released": False}
            connection.execute("DELETE FROM task_claims WHERE task_id = ?", (task_id,))
        return {"released": True}

    def _claim(self, connection: sqlite3.Connection, task_id: str) -> lease.Claim | None:
        row = connection.execute(
            "SELECT claimed_by, lease_until_ms FROM task_claims WHERE task_id = ?", (task_id,)
        ).fetchone()
        return None if row is None else lease.Claim(row[0], row[1], self._latest_token(connection, task_id))

    def _latest_token(self, connection: sqlite3.Connection, task_id: str) -> int | None:
        row = connection.execute("SELECT token FROM task_tokens WHERE task_id = ?", (task_id,)).fetchone()
        return None if row is None else row[0]


def _check_names(task_id: object, agent_id: object, token: object = None) -> None:
    limits.name("task_id", task_id)
    limits.name("agent_id", agent_id)
    if token is not None:
        limits.integer("token", token)
