"""Routing (4.2): the inboxes that an address means, and the subscribers of a channel."""

from __future__ import annotations

from refbus.kernel.transaction import Transaction
from refbus.relay import names
from refbus.relay.failure import Failure
from refbus.relay.store import Store


class Route:
    """Addresses become agents, in the order of their names."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def refuse_bad_address(self, to: str) -> None:
        """Raise bad_address for a text that is no address."""
        if to not in (names.ALL, names.LEAD, names.ORCHESTRATOR) and not (
            names.is_agent_name(to) or names.is_channel(to)
        ):
            raise Failure("bad_address", f"{to!a:.80}")

    def recipients(self, sender: str, to: str) -> list[str]:
        """Agents whose inboxes get a copy. Raises unknown_agent, no_lead."""
        if to == names.ALL:
            rows = self._store.db.rows(
                "SELECT name FROM agents WHERE status = 'active' AND name <> ? ORDER BY name", (sender,)
            )
        elif to.startswith("#"):
            rows = self._store.db.rows(
                "SELECT name FROM agents JOIN subscriptions ON agent_name = name "
                "WHERE channel = ? AND status <> 'terminated' AND name <> ? ORDER BY name",
                (to, sender),
            )
        else:
            return [self._one(to)]
        return [name for (name,) in rows]

    def _one(self, to: str) -> str:
        name, reason = to, "unknown_agent"
        if to == names.LEAD:
            reason = "no_lead"
            if self._store.config.lead is None:
                raise Failure(reason)
            name = self._store.config.lead
        row = self._store.db.row("SELECT status FROM agents WHERE name = ?", (name,))
        if row is None or row[0] == "terminated":
            raise Failure(reason, name)
        return name


def subscribe(tx: Transaction, agent: str, channel: str) -> None:
    """The agent gets every message to the channel from now on."""
    tx.execute("INSERT OR IGNORE INTO subscriptions (channel, agent_name) VALUES (?, ?)", (channel, agent))


def unsubscribe(tx: Transaction, agent: str, channel: str) -> None:
    """The agent gets none of them any more."""
    tx.execute("DELETE FROM subscriptions WHERE channel = ? AND agent_name = ?", (channel, agent))
