"""Sending: one message, its recipient's counter and its audit record, in one transaction; and what time takes away."""

from __future__ import annotations

import sqlite3
from typing import Any

from refbus.comms.envelope import Envelope, draft, validate_message
from refbus.comms.presence import Health
from refbus.comms.store import SECONDS_MAX
from refbus.kernel import iso, jsontext
from refbus.kernel.errors import IdConflict, RateLimited
from refbus.kernel.rules import bucket
from refbus.kernel.rules import limit as limits

TTL_S = 3600
TTL_URGENT_S = 300
# "None only when asked" (C13): None asks for no expiry, so what was not said needs a value of its own.
UNSAID: Any = object()


class Log(Health):
    """send_message, validate_message and cleanup_expired_messages."""

    def send_message(
        self,
        from_agent: str,
        to_agent: str | None = None,
        message_type: str = "",
        payload: dict[str, Any] | None = None,
        channel: str = "general",
        priority: int = 5,
        correlation_id: str | None = None,
        ttl_seconds: int | None = UNSAID,
        message_id: str | None = None,
    ) -> dict[str, Any]:
        """Store a message durably. Costs one token of the sender's bucket.

        `message_id` makes a retry safe: the same id and content again is the first message again.
        Errors: INVALID_ARGUMENT, PAYLOAD_TOO_LARGE, RATE_LIMITED, ID_CONFLICT, VOTE_CLOSED; nothing is stored then.
        """
        envelope = draft(
            message_id=message_id,
            now=self._now(),
            message_type=message_type,
            correlation_id=correlation_id,
            from_agent=from_agent,
            to_agent=to_agent,
            channel=channel,
            priority=priority,
            payload=payload,  # type: ignore[arg-type]
        )
        expires_at = self._expires_at(channel, ttl_seconds)
        with self.db.transaction() as connection:
            if message_id is not None and self._is_known(connection, envelope):
                return {"message_id": envelope.id}
            self._pay(connection, from_agent)
            self._insert(connection, envelope, expires_at)
        return {"message_id": envelope.id}

    def validate_message(self, message: Any) -> dict[str, Any]:
        """Hold a message against the envelope's schema: is it valid, and all that is wrong with it."""
        valid, errors = validate_message(message)
        return {"valid": valid, "errors": errors}

    def cleanup_expired_messages(self) -> dict[str, Any]:
        """Remove messages past their TTL, except those that are being processed; make due ones pending again."""
        with self.db.transaction() as connection:
            self._make_due_pending(connection, None)
            deleted = self._remove_expired(connection)
        self._try_to_export()
        return {"deleted": deleted}

    def _remove_expired(self, connection: sqlite3.Connection, only: str | None = None) -> int:
        """All that expired, or one message if it did; how many."""
        gone = connection.execute(_EXPIRED, {"now": self._now(), "only": only}).fetchall()
        for message_id, to_agent, status in gone:
            connection.execute("DELETE FROM messages WHERE id = ?", (message_id,))
            connection.execute("DELETE FROM message_deliveries WHERE message_id = ?", (message_id,))
            if status == "pending" and to_agent is not None:
                self._count(connection, to_agent, "messages_pending", -1)
            self._record(connection, "expired", to_agent, message_id, status=status)
        return len(gone)

    def _expires_at(self, channel: str, ttl_seconds: int | None) -> str | None:
        if ttl_seconds is UNSAID:
            ttl_seconds = TTL_URGENT_S if channel == "urgent" else TTL_S
        if ttl_seconds is None:
            return None
        limits.integer("ttl_seconds", ttl_seconds, 0, SECONDS_MAX)
        return iso.text(self.clock.now_us() + ttl_seconds * 1_000_000)

    def _insert(self, connection: sqlite3.Connection, envelope: Envelope, expires_at: str | None) -> None:
        connection.execute(_INSERT, (*envelope, envelope.timestamp, expires_at))
        if envelope.to_agent is not None:
            self._count(connection, envelope.to_agent, "messages_pending", 1)
        self._record(
            connection,
            "sent",
            envelope.from_agent,
            envelope.id,
            to_agent=envelope.to_agent,
            type=envelope.type,
            channel=envelope.channel,
            priority=envelope.priority,
            correlation_id=envelope.correlation_id,
        )

    def _pay(self, connection: sqlite3.Connection, agent_id: str) -> None:
        """One token; the empty bucket's refusal leaves everything as it was."""
        now_us = self.clock.now_us()
        row = connection.execute("SELECT tokens, at_us FROM token_buckets WHERE agent_id = ?", (agent_id,)).fetchone()
        held = bucket.Bucket(*row) if row else bucket.full(now_us, self.rate_capacity)
        left, paid = bucket.consume(held, now_us, capacity=self.rate_capacity, refill_per_s=self.rate_refill_per_s)
        if not paid:
            raise RateLimited(f"{agent_id} has sent too much: {left.tokens:.2f} of {self.rate_capacity:g} tokens left")
        connection.execute(
            "INSERT OR REPLACE INTO token_buckets (agent_id, tokens, at_us) VALUES (?, ?, ?)", (agent_id, *left)
        )

    def _is_known(self, connection: sqlite3.Connection, envelope: Envelope) -> bool:
        """Is the id taken by this very message? Raises ID_CONFLICT if by another."""
        row = connection.execute(_BY_ID, (envelope.id,)).fetchone()
        if row is None:
            return False
        wanted = (
            envelope.type,
            envelope.correlation_id,
            envelope.from_agent,
            envelope.to_agent,
            envelope.channel,
            envelope.priority,
        )
        if row[:-1] != wanted or not _is_same_json(row[-1], envelope.payload):
            raise IdConflict(f"id {envelope.id} is taken by a message with other content")
        return True


def _is_same_json(one: str, other: str) -> bool:
    try:
        return one == other or jsontext.canonical(jsontext.decode(one)) == jsontext.canonical(jsontext.decode(other))
    except ValueError:
        return False


_INSERT = """
    INSERT INTO messages (id, type, version, timestamp, correlation_id, from_agent, to_agent, channel, priority,
                          payload, created_at, expires_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""

_BY_ID = """
    SELECT type, correlation_id, from_agent, to_agent, channel, priority, payload FROM messages WHERE id = ?
"""

# A claim that lives keeps its message: whoever works on it will want to complete it.
_EXPIRED = """
    SELECT id, to_agent, status FROM messages AS m
    WHERE expires_at IS NOT NULL AND expires_at <= :now AND status <> 'processing' AND id = coalesce(:only, id)
      AND NOT EXISTS (SELECT 1 FROM message_deliveries AS d
                      WHERE d.message_id = m.id AND d.status = 'processing' AND d.visible_at > :now)
"""
