"""Health: each agent's report on itself, and counters that agree with the tables (C12).

`messages_pending` counts messages to this agent alone whose status is pending: a broadcast has no single recipient.
`messages_processed` and `error_count` count what the agent completed, with and without an error.
"""

from __future__ import annotations

from typing import Never, TypedDict, cast

from refbus.comms.store import Store
from refbus.kernel import iso
from refbus.kernel.errors import NotFound
from refbus.kernel.rules import delivery
from refbus.kernel.rules import limit as limits
from refbus.kernel.transaction import Transaction

STATUSES = ("active", "idle", "degraded", "failed")
NEVER = iso.text(0)


class AgentHealth(TypedDict):
    """get_agent_health: the agent's report on itself, and its counters (C12)."""

    agent_id: str
    status: str  # one of STATUSES
    current_task: str | None
    last_heartbeat: str
    messages_pending: int
    messages_processed: int
    error_count: int


class Presence:
    """send_heartbeat and get_agent_health; and `count` for the nouns that move a counter."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def send_heartbeat(self, agent_id: str, status: str, current_task: str | None = None) -> dict[str, Never]:
        """Say that the agent is alive and what it is doing. Errors: INVALID_ARGUMENT."""
        check_beat(agent_id, status, current_task)
        self.store.db.write(
            """
            INSERT INTO agent_status (agent_id, status, current_task, last_heartbeat) VALUES (?, ?, ?, ?)
            ON CONFLICT (agent_id) DO UPDATE SET
                status = excluded.status,
                current_task = excluded.current_task,
                last_heartbeat = excluded.last_heartbeat
            """,
            (agent_id, status, current_task, self.store.now()),
        )
        return {}

    def get_agent_health(self, agent_id: str) -> AgentHealth:
        """The agent's row. Messages that are due again are counted as pending, and are so from now on.

        The call waits for no writer unless a message is due. Errors: INVALID_ARGUMENT, NOT_FOUND for an agent that was
        never seen.
        """
        limits.name("agent_id", agent_id)
        with self.store.snapshot() as tx:
            row = tx.execute(_HEALTH, (agent_id,)).fetchone()
            is_due = bool(_due(tx, agent_id))
        if is_due:
            with self.store.transaction() as tx:
                self.make_due_pending(tx, agent_id)
                row = tx.execute(_HEALTH, (agent_id,)).fetchone()
        if row is None:
            raise NotFound(f"agent {agent_id!r:.80} was never seen")
        return cast(AgentHealth, dict(zip(AgentHealth.__annotations__, row, strict=True)))

    def count(self, tx: Transaction, agent_id: str, column: str, change: int) -> None:
        """Move a counter; an agent that was never seen gets its row."""
        tx.execute(_COUNT[column], {"agent": agent_id, "never": NEVER, "change": change})

    def make_due_pending(self, tx: Transaction, agent_id: str | None) -> None:
        """Make messages pending whose retry delay or visibility time-out is over: those of one agent, or of all."""
        for message_id, owner in _due(tx, agent_id):
            tx.execute("UPDATE messages SET status = 'pending' WHERE id = ?", (message_id,))
            # The old delivery is over: it must not be taken for the claim of the next holder.
            tx.execute(
                "UPDATE message_deliveries SET status = 'pending' WHERE message_id = ? AND agent_id = ?",
                (message_id, owner),
            )
            self.count(tx, owner, "messages_pending", 1)


def _due(tx: Transaction, agent_id: str | None) -> list[tuple[str, str]]:
    """Their ids, and whose they are."""
    abandoned = iso.text(max(0, tx.now_us - delivery.VISIBILITY_MS * 1_000))
    params = {"agent": agent_id, "now": iso.text(tx.now_us), "abandoned": abandoned}
    return tx.execute(_DUE if agent_id is None else _DUE_FOR_AGENT, params).fetchall()


def check_beat(agent_id: object, status: object, current_task: object) -> None:
    """Raise INVALID_ARGUMENT for a heartbeat that cannot be."""
    limits.name("agent_id", agent_id)
    limits.one_of("status", status, STATUSES)
    if current_task is not None:
        limits.text("current_task", current_task)


_HEALTH = """
    SELECT agent_id, status, current_task, last_heartbeat, messages_pending, messages_processed, error_count
    FROM agent_status WHERE agent_id = ?
"""

_COUNT = {
    "messages_pending": """
        INSERT INTO agent_status (agent_id, status, last_heartbeat, messages_pending)
        VALUES (:agent, 'idle', :never, max(0, :change))
        ON CONFLICT (agent_id) DO UPDATE SET messages_pending = max(0, messages_pending + :change)
    """,
    "messages_processed": """
        INSERT INTO agent_status (agent_id, status, last_heartbeat, messages_processed)
        VALUES (:agent, 'idle', :never, :change)
        ON CONFLICT (agent_id) DO UPDATE SET messages_processed = messages_processed + :change
    """,
    "error_count": """
        INSERT INTO agent_status (agent_id, status, last_heartbeat, error_count)
        VALUES (:agent, 'idle', :never, :change)
        ON CONFLICT (agent_id) DO UPDATE SET error_count = error_count + :change
    """,
}

_DUE_FOR_AGENT = "SELECT id, to_agent FROM due_deliveries WHERE agent_id = :agent AND due_at <= :now"

_DUE = """
    SELECT id, to_agent FROM due_deliveries WHERE due_at <= :now
    UNION ALL
    SELECT id, to_agent FROM foreign_claims WHERE since <= :abandoned
"""
