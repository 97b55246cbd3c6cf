"""Question and answer: a request waits for the message that carries its correlation id."""

from __future__ import annotations

import uuid
from typing import Any, TypedDict

from refbus.comms import envelope as envelopes
from refbus.comms.envelope import Message, as_message
from refbus.comms.lease import Leases
from refbus.comms.log import Log, Sent, time_to_live_s
from refbus.comms.store import Store
from refbus.kernel.errors import InvalidArgument, NotClaimed, TimedOut
from refbus.kernel.rules import limit as limits
from refbus.kernel.transaction import Transaction

TIMEOUT_S = 30.0
TIMEOUT_S_MAX = 24 * 60 * 60
ARTIFACTS = ".claude/artifacts/"


class Answered(TypedDict):
    """request: the message that answers it."""

    response: Message


class Requests:
    """request and send_response."""

    def __init__(self, store: Store, log: Log, leases: Leases) -> None:
        self.store, self.log, self.leases = store, log, leases

    def request(
        self,
        from_agent: str,
        to_agent: str,
        message_type: str,
        payload: dict[str, Any],
        channel: str = "general",
        priority: int = 5,
        timeout_seconds: float = TIMEOUT_S,
    ) -> Answered:
        """Send, wait for the answer, claim and complete it.

        The answer is found by its correlation id, so that other messages in front of it do not hide it.
        Errors: those of send_message; TIMEOUT after timeout_seconds of real time: the request stays sent.
        """
        limits.name("to_agent", to_agent)
        limits.number("timeout_seconds", timeout_seconds, 0, TIMEOUT_S_MAX)
        correlation_id = str(uuid.uuid4())
        sent = self.log.send_message(
            from_agent, to_agent, message_type, payload, channel, priority, correlation_id=correlation_id
        )["message_id"]
        response = self.store.wait_for(lambda: self.take_answer(from_agent, correlation_id, sent), timeout_seconds)
        if response is None:
            raise TimedOut(f"no answer to {sent} within {timeout_seconds:g} s")
        return {"response": response}

    def send_response(
        self,
        original_message: dict[str, Any],
        response_payload: dict[str, Any],
        artifact_path: str | None = None,
        agent_id: str | None = None,
        message_id: str | None = None,
    ) -> Sent:
        """Answer a request: to its sender, on its channel, with its correlation id.

        The answer comes from the request's recipient, or from an agent that has claimed the broadcast (C5).
        Errors: INVALID_ARGUMENT for a message that is no envelope, NOT_CLAIMED for anybody else's answer (C26), and
        those of send_message.
        """
        sender = _answerer(original_message, agent_id)
        if type(response_payload) is not dict:
            raise InvalidArgument(f"response_payload must be an object, not {type(response_payload).__name__}")
        if artifact_path is not None:
            limits.text("artifact_path", artifact_path)
            if not artifact_path.startswith(ARTIFACTS) or ".." in artifact_path:
                raise InvalidArgument(f"artifact_path must lie in {ARTIFACTS}: {artifact_path!r:.80}")
            response_payload = {**response_payload, "artifact_path": artifact_path}
        draft = envelopes.draft(
            message_id=message_id,
            message_type=response_type(original_message["type"]),
            correlation_id=original_message.get("correlation_id") or original_message["id"],
            from_agent=sender,
            to_agent=original_message["from_agent"],
            channel=original_message["channel"],
            priority=original_message["priority"],
            payload=response_payload,
        )
        with self.store.transaction() as tx:
            if message_id is None or not self.log.is_known(tx, draft):
                if original_message.get("to_agent") is None:
                    self.check_claimed(tx, original_message["id"], sender)
                self.log.send(tx, draft, time_to_live_s(draft.channel))
        return {"message_id": draft.id}

    def check_claimed(self, tx: Transaction, message_id: str, agent_id: str) -> None:
        """Raise NOT_CLAIMED unless the agent has, or had, the broadcast in its hands (C26)."""
        if tx.row(_CLAIMED, (message_id, agent_id)) is None:
            raise NotClaimed(f"{agent_id} has not claimed the broadcast {message_id}")

    def take_answer(self, agent_id: str, correlation_id: str, sent: str) -> Message | None:
        """The oldest message that answers, claimed and completed; None: there is none yet."""
        values = {"correlation": correlation_id, "agent": agent_id, "sent": sent, "now": self.store.now()}
        for row in self.store.db.rows(_ANSWERS, values):
            if self.leases.claim_message(agent_id, row[0])["claimed"]:
                self.leases.complete_message(row[0], agent_id=agent_id)
                return as_message(row)
        return None


def _answerer(original_message: dict[str, Any], agent_id: str | None) -> str:
    """The agent in whose name a message is answered: its addressee; for a broadcast, the caller."""
    valid, errors = envelopes.validate_message(original_message)
    if not valid:
        raise InvalidArgument(f"original_message is no envelope: {'; '.join(errors)[:300]}")
    to_agent: str | None = original_message.get("to_agent")
    if agent_id is None and to_agent is None:
        raise InvalidArgument("agent_id must be given to answer a broadcast")
    if to_agent is not None and agent_id not in (None, to_agent):
        raise NotClaimed(f"the message is addressed to {to_agent}, not to {agent_id}")
    return str(to_agent or agent_id)


def response_type(request_type: str) -> str:
    """`context.query` is answered by `context.response`; a type that is no query, by its own name and `.response`."""
    return f"{request_type.removesuffix('.query')}.response"


_CLAIMED = "SELECT 1 FROM message_deliveries WHERE message_id = ? AND agent_id = ?"

_ANSWERS = """
    SELECT id, type, version, timestamp, correlation_id, from_agent, to_agent, channel, priority, payload
    FROM live_messages
    WHERE correlation_id = :correlation AND to_agent = :agent AND id <> :sent AND live_until > :now
      AND (status = 'pending' OR id IN (SELECT id FROM due_deliveries WHERE agent_id = :agent AND due_at <= :now))
    ORDER BY timestamp, number
"""
