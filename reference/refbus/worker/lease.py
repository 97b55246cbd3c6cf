"""Claims: one holder for the name of a task, for as long as its lease lives."""

from __future__ import annotations

from refbus.kernel.rules import lease
from refbus.kernel.rules import limit as limits
from refbus.kernel.transaction import Transaction
from refbus.kernel.verdict import verdict
from refbus.worker.replies import Claimed, Released, Renewed
from refbus.worker.store import Store


class Claims:
    """try_claim_task, renew_claim and release_claim; `kernel.rules.lease` decides."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def try_claim_task(self, task_id: str, agent_id: str) -> Claimed:
        """Take the task's lease. False means exactly that somebody holds a live one (W8).

        `token` rises with every grant of the task (W10). Errors: INVALID_ARGUMENT.
        """
        _check_names(task_id, agent_id)
        with self._store.transaction() as tx:
            claim = self.claim(tx, task_id)
            if not lease.may_take(claim, tx.now_ms):
                return verdict(Claimed(claimed=False))
            token = lease.next_token(self._latest_token(tx, task_id))
            until_ms = tx.now_ms + self._store.lease_ms
            tx.execute(
                """
                INSERT OR REPLACE INTO task_claims (task_id, claimed_by, claimed_at_ms, lease_until_ms)
                VALUES (?, ?, ?, ?)
                """,
                (task_id, agent_id, tx.now_ms, until_ms),
            )
            tx.execute("INSERT OR REPLACE INTO task_tokens (task_id, token) VALUES (?, ?)", (task_id, token))
        return verdict(Claimed(claimed=True, token=token, lease_until_ms=until_ms))

    def renew_claim(self, task_id: str, agent_id: str, token: int | None = None) -> Renewed:
        """Extend the lease. Allowed after expiry while nobody retook it (W9). Errors: INVALID_ARGUMENT."""
        _check_names(task_id, agent_id, token)
        with self._store.transaction() as tx:
            if not lease.may_keep(self.claim(tx, task_id), agent_id, token):
                return verdict(Renewed(renewed=False))
            until_ms = tx.now_ms + self._store.lease_ms
            tx.execute("UPDATE task_claims SET lease_until_ms = ? WHERE task_id = ?", (until_ms, task_id))
        return verdict(Renewed(renewed=True, lease_until_ms=until_ms))

    def release_claim(self, task_id: str, agent_id: str, token: int | None = None) -> Released:
        """Give the task back. Somebody else's claim stays untouched. Errors: INVALID_ARGUMENT."""
        _check_names(task_id, agent_id, token)
        with self._store.transaction() as tx:
            if not lease.may_keep(self.claim(tx, task_id), agent_id, token):
                return verdict(Released(released=False))
            tx.execute("DELETE FROM task_claims WHERE task_id = ?", (task_id,))
        return verdict(Released(released=True))

    def claim(self, tx: Transaction, task_id: str) -> lease.Claim | None:
        """The task's claim, live or over."""
        row = tx.row("SELECT claimed_by, lease_until_ms FROM task_claims WHERE task_id = ?", (task_id,))
        return None if row is None else lease.Claim(row[0], row[1], self._latest_token(tx, task_id))

    def _latest_token(self, tx: Transaction, task_id: str) -> int | None:
        row = tx.row("SELECT token FROM task_tokens WHERE task_id = ?", (task_id,))
        return None if row is None else row[0]


def _check_names(task_id: object, agent_id: object, token: object = None) -> None:
    limits.name("task_id", task_id)
    limits.name("agent_id", agent_id)
    if token is not None:
        limits.integer("token", token)
