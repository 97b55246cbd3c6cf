"""How much an agent may send: files beyond the rate wait in its outbox; nothing is lost."""

from __future__ import annotations

from refbus.kernel.transaction import Transaction
from refbus.relay import tree
from refbus.relay.audit import Audit
from refbus.relay.store import Store

WINDOW_MS = 60_000


class Rate:
    """Rows of an agent in the last minute, counted in the ledger: a restart forgives nothing.

    Rows from before the clock went back are not of the last minute: nobody waits until it has caught up (R1).
    """

    def __init__(self, store: Store, audit: Audit) -> None:
        self._store, self._audit = store, audit
        self._limited: set[str] = set()

    def room(self, agent: str) -> int:
        """How many more of its files may enter the ledger now."""
        now_ms = self._store.clock.now_ms()
        (taken,) = self._store.db.row(
            """
            SELECT count(*) FROM messages
            WHERE agent_name = ? AND direction = 'outbox' AND discovered_at > ? AND discovered_at <= ?
            """,
            (agent, now_ms - WINDOW_MS, now_ms),
        )
        return max(0, self._store.config.rate_per_min - int(taken))

    def news(self, limited: set[str]) -> set[str]:
        """The agents that are limited in this pass and were not in the last."""
        return limited - self._limited

    def told(self, limited: set[str]) -> None:
        """The agents are in the audit log, or nobody waits any more. Not earlier: the transaction may have failed."""
        self._limited = limited

    def tell(self, tx: Transaction, agents: set[str]) -> None:
        """One record for each."""
        for agent in sorted(agents):
            detail = f"more than {self._store.config.rate_per_min} a minute"
            self._audit.add(tx, "rate_limited", f"{tree.AGENTS}/{agent}", detail)
