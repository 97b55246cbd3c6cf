"""Sending: one message, its recipient's counter and its audit record, in one transaction; and expiry."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, TypedDict

from refbus.comms import envelope as envelopes
from refbus.comms.envelope import Envelope
from refbus.comms.export import Audit
from refbus.comms.limit import RateLimit
from refbus.comms.presence import Presence
from refbus.comms.store import SECONDS_MAX, Store
from refbus.comms.vote import Votes
from refbus.kernel import iso, jsontext
from refbus.kernel.errors import BusError, IdConflict
from refbus.kernel.rules import limit as limits
from refbus.kernel.transaction import Transaction
from refbus.kernel.verdict import verdict

TTL_S = 3600
TTL_URGENT_S = 300
# "None only when asked" (C13): None asks for no expiry, so an argument that was left out needs a value of its own.
UNSAID: Any = object()


class Sent(TypedDict):
    """send_message, send_response, send_with_retry."""

    message_id: str


class Validated(TypedDict):
    """validate_message: every fault of the envelope, in words."""

    valid: bool
    errors: list[str]


class CleanedUp(TypedDict):
    """cleanup_expired_messages: how many messages were removed."""

    deleted: int


class Log:
    """send_message, validate_message and cleanup_expired_messages."""

    def __init__(self, store: Store, audit: Audit, presence: Presence, rate: RateLimit, votes: Votes) -> None:
        self.store, self.audit, self.presence, self.rate, self.votes = store, audit, presence, rate, votes

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
    ) -> Sent:
        """Store a message durably. Costs one token of the sender's bucket.

        `message_id` makes a retry safe: the same id and content again is the first message again.
        Errors: INVALID_ARGUMENT, PAYLOAD_TOO_LARGE, RATE_LIMITED, ID_CONFLICT, VOTE_CLOSED, and NOT_FOUND for a cast
        of an unknown vote; nothing is stored then.
        """
        draft = envelopes.draft(
            message_id=message_id,
            message_type=message_type,
            correlation_id=correlation_id,
            from_agent=from_agent,
            to_agent=to_agent,
            channel=channel,
            priority=priority,
            payload=payload,  # type: ignore[arg-type]
        )
        ttl_s = time_to_live_s(channel, ttl_seconds)
        with self.store.transaction() as tx:
            if message_id is None or not self.is_known(tx, draft):
                self.send(tx, draft, ttl_s)
        return {"message_id": draft.id}

    def validate_message(self, message: Any) -> Validated:
        """Hold a message against the envelope's schema: is it valid, and all that is wrong with it."""
        valid, errors = envelopes.validate_message(message)
        return verdict(Validated(valid=valid, errors=errors))

    def cleanup_expired_messages(self) -> CleanedUp:
        """Remove messages past their TTL, except those that are being processed; make due ones pending again."""
        with self.store.transaction() as tx:
            self.presence.make_due_pending(tx, None)
            deleted = self.remove_expired(tx)
        self.audit.try_to_export()
        return {"deleted": deleted}

    def send(self, tx: Transaction, draft: Envelope, ttl_s: int | None) -> None:
        """A message that is not known: pay, store it, and let its vote take part. Errors: RATE_LIMITED, a vote's."""
        self.rate.pay(tx, draft.from_agent)
        envelope = draft._replace(timestamp=iso.text(tx.now_us))
        self.insert(tx, envelope, None if ttl_s is None else iso.text(tx.now_us + ttl_s * 1_000_000))
        self.votes.heed(tx, envelope)

    def insert(self, tx: Transaction, envelope: Envelope, expires_at: str | None) -> None:
        """The message, its recipient's counter, its record."""
        tx.execute(_INSERT, (*envelope, envelope.timestamp, expires_at))
        if envelope.to_agent is not None:
            self.presence.count(tx, envelope.to_agent, "messages_pending", 1)
        self.audit.record(
            tx,
            "sent",
            envelope.from_agent,
            envelope.id,
            to_agent=envelope.to_agent,
            type=envelope.type,
            channel=envelope.channel,
            priority=envelope.priority,
            correlation_id=envelope.correlation_id,
        )

    def is_known(self, tx: Transaction, envelope: Envelope) -> bool:
        """Is the id taken by this very message, wherever that is by now (C16)? Raises ID_CONFLICT if by another."""
        taken = self.hashes(tx, envelope.id)
        if taken and content_hash(envelope.content) not in taken:
            raise IdConflict(f"id {envelope.id} is taken by a message with other content")
        return bool(taken)

    def hashes(self, tx: Transaction, message_id: str) -> list[str | None]:
        """The content_hash of each message sent under the id; None for a letter whose content cannot be read."""
        return [
            *(content_hash(row) for row in tx.rows(_BY_ID, (message_id,))),
            *(_hash_of_letter(text) for (text,) in tx.rows(_LETTER, (message_id,))),
            *(hash_ for (hash_,) in tx.rows(_REMOVED, (message_id,))),
        ]

    def remove_expired(self, tx: Transaction, only: str | None = None) -> int:
        """Remove all that expired, or one message if it did; return how many. Removed messages stay known (C16)."""
        gone = tx.rows(_EXPIRED, {"now": iso.text(tx.now_us), "only": only})
        for message_id, status, *content in gone:
            to_agent = content[3]
            tx.execute("DELETE FROM messages WHERE id = ?", (message_id,))
            tx.execute("DELETE FROM message_deliveries WHERE message_id = ?", (message_id,))
            tx.execute(
                # A broadcast that came back to one agent alone is still known by the content that its sender gave.
                "INSERT OR IGNORE INTO removed_messages (message_id, content_hash) VALUES (?, ?)",
                (message_id, content_hash(content)),
            )
            if status == "pending" and to_agent is not None:
                self.presence.count(tx, to_agent, "messages_pending", -1)
            self.audit.record(tx, "expired", to_agent, message_id, status=status)
        return len(gone)


def time_to_live_s(channel: str, ttl_seconds: object = UNSAID) -> int | None:
    """How long a message lives; None: for ever (C13)."""
    if ttl_seconds is UNSAID:
        return TTL_URGENT_S if channel == "urgent" else TTL_S
    return None if ttl_seconds is None else limits.integer("ttl_seconds", ttl_seconds, 0, SECONDS_MAX)


def content_hash(content: Sequence[Any]) -> str:
    """The same for two messages if and only if their Envelope.content is, whatever the order in the payload's text."""
    *fields, payload = content
    try:
        text = jsontext.canonical(jsontext.decode(payload))
    except (ValueError, TypeError):
        text = repr(payload)  # a stranger's, damaged; its other columns may hold bytes as well
    return hashlib.sha256(f"{fields!r} {text}".encode()).hexdigest()


def _hash_of_letter(text: str) -> str | None:
    try:
        message = jsontext.decode(text, jsontext.AROUND_MAX)
        fields = [message.get(name) for name in ("type", "correlation_id", "from_agent", "to_agent", "channel")]
        return content_hash([*fields, message["priority"], jsontext.encode(message["payload"])])
    except (ValueError, TypeError, KeyError, AttributeError, BusError):
        return None


_INSERT = """
    INSERT INTO messages (id, type, version, timestamp, correlation_id, from_agent, to_agent, channel, priority,
                          payload, created_at, expires_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""

_BY_ID = "SELECT type, correlation_id, from_agent, to_agent, channel, priority, payload FROM messages WHERE id = ?"
_LETTER = "SELECT original_message FROM dead_letter_queue WHERE id = ?"
_REMOVED = "SELECT content_hash FROM removed_messages WHERE message_id = ?"

# A live claim keeps its message: its holder will want to complete it.
_EXPIRED = """
    SELECT id, status, type, correlation_id, from_agent, to_agent, channel, priority, payload FROM messages AS m
    WHERE expires_at <= :now AND status <> 'processing' AND id = coalesce(:only, id)
      AND NOT EXISTS (SELECT 1 FROM claimable_deliveries AS d
                      WHERE d.message_id = m.id AND d.status = 'processing' AND d.claimable_from > :now)
"""
