"""Messages that failed for good: the dead letter queue and the way back; and sending in spite of errors."""

from __future__ import annotations

import inspect
import time
import uuid
from typing import Any, TypedDict

from refbus.comms.envelope import REQUIRED
from refbus.comms.export import Audit
from refbus.comms.log import Log, Sent
from refbus.comms.presence import Presence
from refbus.comms.store import Store
from refbus.kernel import iso, jsontext
from refbus.kernel.errors import BusError, IdConflict, InvalidArgument, NotFound, PayloadTooLarge, VoteClosed
from refbus.kernel.rules import limit as limits
from refbus.kernel.rules import retry
from refbus.kernel.transaction import Transaction
from refbus.kernel.verdict import verdict

ATTEMPTS_MAX = 100
BASE_DELAY_S_MAX = 3600.0
# Errors of send_message that another attempt would meet again.
NOT_RETRYABLE = (InvalidArgument, PayloadTooLarge, IdConflict, NotFound, VoteClosed)

_SEND = inspect.signature(Log.send_message)


class DeadLetter(TypedDict):
    """A message that failed for good."""

    id: str  # the message's; of a broadcast, MESSAGE:AGENT
    original_message: Any  # the envelope with created_at and expires_at; a text if a stranger stored no JSON
    error: str
    moved_at: str
    retry_count: int  # how often it was delivered


class DeadLetters(TypedDict):
    """dead_letters: oldest first."""

    dead_letters: list[DeadLetter]


class Redriven(TypedDict):
    """redrive: False where there is no such letter, or a gone broadcast came back to another agent that is not done."""

    redriven: bool


class RetryDelays(TypedDict):
    """retry_delays: seconds, one for each failed attempt but the last."""

    delays_s: list[float]


class Retries:
    """dead_letters, redrive, send_with_retry and retry_delays."""

    def __init__(self, store: Store, audit: Audit, presence: Presence, log: Log) -> None:
        self.store, self.audit, self.presence, self.log = store, audit, presence, log

    def dead_letters(self) -> DeadLetters:
        """The queue, oldest first; `original_message` as an object."""
        rows = self.store.db.rows(
            "SELECT id, original_message, error, moved_at, retry_count FROM dead_letter_queue ORDER BY moved_at, rowid"
        )
        names = ("id", "original_message", "error", "moved_at", "retry_count")
        letters = [dict(zip(names, row, strict=True)) for row in rows]
        return {"dead_letters": [{**letter, "original_message": _decoded(letter)} for letter in letters]}  # type: ignore[typeddict-item]

    def redrive(self, id: str) -> Redriven:
        """Put a dead letter back in front of its agent: pending, nothing counted, its time to live begun anew.

        Errors: INVALID_ARGUMENT, also for a letter that holds no message.
        """
        limits.text("id", id)
        with self.store.transaction() as tx:
            row = tx.row("SELECT original_message FROM dead_letter_queue WHERE id = ?", (id,))
            if row is None:
                return verdict(Redriven(redriven=False))
            message = _whole(row[0])
            agent_id = message["to_agent"] or _agent_of(id, message["id"])
            if not _make_way(tx, message["id"], agent_id):
                return verdict(Redriven(redriven=False))
            tx.execute("DELETE FROM dead_letter_queue WHERE id = ?", (id,))
            tx.execute(
                "DELETE FROM message_deliveries WHERE message_id = ? AND agent_id = ?", (message["id"], agent_id)
            )
            # An expired broadcast is gone, whether somebody has cleaned up yet or not.
            self.log.remove_expired(tx, message["id"])
            self.put_back(tx, message, agent_id)
            self.audit.record(tx, "redriven", agent_id, message["id"])
        return verdict(Redriven(redriven=True))

    def put_back(self, tx: Transaction, message: dict[str, Any], agent_id: str | None) -> None:
        """A broadcast that is still there lives on, for all; one that is gone comes back for this agent alone."""
        expires_at = message["expires_at"]
        if expires_at is not None:
            lifetime_us = iso.parse("expires_at", expires_at) - iso.parse("created_at", message["created_at"])
            expires_at = iso.text(tx.now_us + lifetime_us)
        renew = "UPDATE messages SET expires_at = ?, created_at = ? WHERE id = ?"
        if tx.execute(renew, (expires_at, iso.text(tx.now_us), message["id"])).rowcount:
            return
        # A payload that was damaged goes back as it was found.
        is_damaged = "payload_error" in message
        tx.execute(
            """
            INSERT INTO messages (id, type, version, timestamp, correlation_id, from_agent, to_agent, channel, priority,
                                  payload, created_at, expires_at)
            VALUES (:id, :type, :version, :timestamp, :correlation_id, :from_agent, :to_agent, :channel, :priority,
                    :payload, :created_at, :expires_at)
            """,
            {
                **message,
                "to_agent": agent_id,
                "payload": str(message["payload"]) if is_damaged else limits.payload(message["payload"]),
                "created_at": iso.text(tx.now_us),
                "expires_at": expires_at,
            },
        )
        if agent_id is not None:
            self.presence.count(tx, agent_id, "messages_pending", 1)

    def send_with_retry(self, /, max_attempts: int = 3, base_delay: float = 1.0, **message_args: Any) -> Sent:
        """send_message, again after base_delay × 2^n × jitter seconds where it fails; the last error is raised.

        Every attempt carries the same id, so a send whose answer was lost is not doubled. Errors: those of
        send_message; an error that another attempt would meet again is raised at once.
        """
        _check_retry(max_attempts, base_delay)
        try:
            _SEND.bind(None, **message_args)
        except TypeError as error:
            raise InvalidArgument(f"send_with_retry: {error!s:.200}") from error
        if message_args.get("message_id") is None:
            message_args["message_id"] = str(uuid.uuid4())
        for attempt in range(max_attempts):
            try:
                return self.log.send_message(**message_args)
            except BusError as error:
                if attempt == max_attempts - 1 or isinstance(error, NOT_RETRYABLE):
                    raise
                time.sleep(retry.send_delay_s(attempt, base_delay, self.store.jitter()))
        raise AssertionError("unreachable: max_attempts is at least 1")

    def retry_delays(self, max_attempts: int = 3, base_delay: float = 1.0, jitter: float = 1.0) -> RetryDelays:
        """The seconds that send_with_retry would wait after each failed attempt but the last.

        Errors: INVALID_ARGUMENT.
        """
        _check_retry(max_attempts, base_delay)
        limits.number("jitter", jitter)
        return {"delays_s": [retry.send_delay_s(n, base_delay, jitter) for n in range(max_attempts - 1)]}


def _make_way(tx: Transaction, message_id: str, agent_id: str | None) -> bool:
    """A broadcast that was gone lies in front of one agent alone; the next one's turn comes when that one is done."""
    present = tx.row("SELECT to_agent, status FROM messages WHERE id = ?", (message_id,))
    if present is None or present[0] in (None, agent_id):
        return True
    if present[1] != "done":
        return False
    tx.execute("DELETE FROM messages WHERE id = ?", (message_id,))
    tx.execute("DELETE FROM message_deliveries WHERE message_id = ?", (message_id,))
    return True


def _decoded(letter: dict[str, Any]) -> Any:
    """A letter that a stranger stored and that is no JSON is shown as it is."""
    try:
        return jsontext.decode(letter["original_message"], jsontext.AROUND_MAX)
    except ValueError:
        return letter["original_message"]


def _whole(text: str) -> dict[str, Any]:
    """The message of a letter. One that follows the seed's listing knows only the envelope."""
    try:
        message = jsontext.decode(text, jsontext.AROUND_MAX)
    except ValueError:
        message = None
    if type(message) is not dict or not message.keys() >= set(REQUIRED):
        raise InvalidArgument("the letter holds no message that could be delivered again")
    optional = {"correlation_id": None, "to_agent": None, "expires_at": None}
    return {**optional, "created_at": message["timestamp"], **message}


def _agent_of(letter_id: str, message_id: str) -> str | None:
    """The agent whose letter of a broadcast it is; None: everybody's, for a stranger moved the broadcast itself.

    The agent's name may hold a colon.
    """
    return letter_id.removeprefix(f"{message_id}:") if letter_id != message_id else None


def _check_retry(max_attempts: object, base_delay: object) -> None:
    limits.integer("max_attempts", max_attempts, 1, ATTEMPTS_MAX)
    limits.number("base_delay, in seconds,", base_delay, 0, BASE_DELAY_S_MAX)
