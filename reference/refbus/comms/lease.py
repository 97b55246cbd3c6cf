"""Claiming and completing: at most one holder for each delivery, a retry after a failure, an end after three.

`kernel.rules.delivery` judges. For a message to one agent, the row in `messages` tells the state to participants that
know only the seed's tables; for a broadcast, each agent has a delivery of its own (C3).
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple, NotRequired, TypedDict

from refbus.comms.envelope import COLUMNS, as_message
from refbus.comms.export import Audit
from refbus.comms.presence import Presence
from refbus.comms.store import Store
from refbus.kernel import iso
from refbus.kernel.errors import InvalidArgument, NotClaimed
from refbus.kernel.rules import delivery
from refbus.kernel.rules import limit as limits
from refbus.kernel.rules.delivery import Delivery
from refbus.kernel.transaction import Transaction
from refbus.kernel.verdict import verdict

ERROR_CHARS_MAX = 65_536


class Claimed(TypedDict):
    """claim_message. A message that is not claimed has neither count nor end, but a reason."""

    claimed: bool
    reason: NotRequired[str]
    delivery_count: NotRequired[int]  # the fencing token of this claim
    visible_at: NotRequired[str]  # the claim ends then


class Completed(TypedDict):
    """complete_message: the new status of the delivery."""

    status: delivery.Status
    due_at: NotRequired[str]  # of one that failed: it can be claimed again from then on


class State(NamedTuple):
    """A message's delivery, as the row in `messages` tells it."""

    status: str
    delivery_count: int | None
    to_agent: str | None
    last_delivered_at: str | None

    @property
    def is_broadcast(self) -> bool:
        """Is the row nobody's, and each agent's delivery its own?"""
        return self.to_agent is None


class Leases:
    """claim_message and complete_message."""

    def __init__(self, store: Store, audit: Audit, presence: Presence) -> None:
        self.store, self.audit, self.presence = store, audit, presence

    def claim_message(self, agent_id: str, message_id: str) -> Claimed:
        """Take a message for processing. False: not there, another's, expired, done, or in somebody's hands.

        `delivery_count` is the token of this claim: a completion that shows an older one is refused.
        Errors: INVALID_ARGUMENT.
        """
        limits.name("agent_id", agent_id)
        limits.text("message_id", message_id)
        with self.store.transaction() as tx:
            row = tx.row(_CLAIMABLE, {"id": message_id, "agent": agent_id, "now": iso.text(tx.now_us)})
            if row is None:
                return verdict(Claimed(claimed=False, reason="there is no such message for this agent"))
            state = State(*row)
            before = self.delivery_of(tx, message_id, agent_id, state)
            if not delivery.may_claim(before, tx.now_us):
                reason = _REASONS.get(before.status, f"its status is {before.status!a:.50}")  # by another program
                return verdict(Claimed(claimed=False, reason=reason))
            after = delivery.claimed(before, tx.now_us, self.store.visibility_ms)
            self.store_delivery(tx, message_id, agent_id, after, None)
            if not state.is_broadcast:
                self._take(tx, message_id, agent_id, state, after)
            self.audit.record(tx, "claimed", agent_id, message_id, delivery_count=after.delivery_count)
        visible_at = iso.text(after.visible_at_us)
        return verdict(Claimed(claimed=True, delivery_count=after.delivery_count, visible_at=visible_at))

    def complete_message(
        self, message_id: str, error: str | None = None, agent_id: str | None = None, delivery_count: int | None = None
    ) -> Completed:
        """Done, or with `error` failed: due again after the retry delay, a dead letter at the third failure.

        `agent_id` is needed for a broadcast only. A delivery that is done, failed or dead already stays as it is.
        Errors: INVALID_ARGUMENT; NOT_CLAIMED where nobody has claimed it, or another claim came after the one with
        `delivery_count`.
        """
        limits.text("message_id", message_id)
        _check_error(error)
        if agent_id is not None:
            limits.name("agent_id", agent_id)
        if delivery_count is not None:
            limits.integer("delivery_count", delivery_count, 1)
        with self.store.transaction() as tx:
            row = tx.row(_STATE, (message_id,))
            if row is None:
                _refuse_unknown(tx, message_id, agent_id)
                return {"status": "dead"}
            state = State(*row)
            owner = _owner(state, agent_id)
            before = self.delivery_of(tx, message_id, owner, state)
            if before.delivery_count == 0:
                raise NotClaimed(f"{message_id:.80} is not in the hands of {owner}")
            if delivery_count not in (None, before.delivery_count):
                now = f"{owner} has it by claim {before.delivery_count}"
                raise NotClaimed(f"claim {delivery_count} of {message_id:.80} is over: {now}")
            if before.status not in ("pending", "processing"):
                return {"status": before.status}
            if before.status == "pending":
                self._take_late(tx, message_id, owner)
            return self._finish(tx, message_id, owner, state, before, error)

    def delivery_of(self, tx: Transaction, message_id: str, agent_id: str, state: State) -> Delivery:
        """The agent's delivery of the message so far."""
        own = tx.row(
            """
            SELECT status, delivery_count, failures, visible_at FROM message_deliveries
            WHERE message_id = ? AND agent_id = ?
            """,
            (message_id, agent_id),
        )
        known = None if own is None else Delivery(own[0], own[1], own[2], iso.parse("visible_at", own[3]))
        if state.is_broadcast:
            return known or Delivery()
        count = max(state.delivery_count or 0, known.delivery_count if known else 0)
        if state.status == "pending" or known is None or known.status != state.status:
            # Never claimed, due again, or claimed by a participant that knows only the seed's tables.
            failures, visible_us = known.failures if known else 0, 0
            if state.status == "processing" and not _is_abandoned(state, tx.now_us):
                visible_us = iso.END_US
            return Delivery(state.status, count, failures, visible_us)  # type: ignore[arg-type]
        return known._replace(delivery_count=count)

    def store_delivery(
        self, tx: Transaction, message_id: str, agent_id: str, after: Delivery, error: str | None
    ) -> None:
        """Store the agent's delivery of the message from now on."""
        status, count, failures, visible_at_us = after
        tx.execute(
            "INSERT OR REPLACE INTO message_deliveries VALUES (?, ?, ?, ?, ?, ?, ?)",
            (message_id, agent_id, status, count, failures, iso.text(visible_at_us), error),
        )

    def is_let_go(self, tx: Transaction, message_id: str, agent_id: str) -> bool:
        """Did the last claim run out, rather than end in a failure?"""
        row = tx.row(
            "SELECT error FROM message_deliveries WHERE message_id = ? AND agent_id = ?", (message_id, agent_id)
        )
        return row is not None and row[0] is None

    def bury(
        self, tx: Transaction, message_id: str, agent_id: str, after: Delivery, error: str, is_broadcast: bool
    ) -> None:
        """Move to the dead letter queue. A broadcast stays for the others; its letter is this agent's.

        So is the letter of a broadcast that is gone and came back to this agent alone, as it did to another one before.
        """
        letter_id = message_id
        if is_broadcast or _is_anothers(tx, message_id, agent_id):
            letter_id = letter_of(message_id, agent_id)
        tx.execute(
            """
            INSERT OR REPLACE INTO dead_letter_queue (id, original_message, error, moved_at, retry_count)
            VALUES (?, ?, ?, ?, ?)
            """,
            (letter_id, json.dumps(_whole_message(tx, message_id)), error, iso.text(tx.now_us), after.delivery_count),
        )
        if not is_broadcast:
            tx.execute("DELETE FROM messages WHERE id = ?", (message_id,))
            tx.execute("DELETE FROM message_deliveries WHERE message_id = ?", (message_id,))
        self.audit.record(tx, "dead_letter", agent_id, message_id, retry_count=after.delivery_count)

    def _take(self, tx: Transaction, message_id: str, agent_id: str, state: State, after: Delivery) -> None:
        """Tell those who know only the seed's tables that the message is in processing."""
        tx.execute(
            "UPDATE messages SET status = 'processing', delivery_count = ?, last_delivered_at = ? WHERE id = ?",
            (after.delivery_count, iso.text(tx.now_us), message_id),
        )
        if state.status == "pending":
            self.presence.count(tx, agent_id, "messages_pending", -1)

    def _take_late(self, tx: Transaction, message_id: str, agent_id: str) -> None:
        """A completion that is late: nobody has claimed the message since, so the work counts (C18)."""
        if not self.is_let_go(tx, message_id, agent_id):
            raise NotClaimed(f"{message_id:.80} has failed, and waits for another claim")
        self.presence.count(tx, agent_id, "messages_pending", -1)

    def _finish(
        self, tx: Transaction, message_id: str, agent_id: str, state: State, before: Delivery, error: str | None
    ) -> Completed:
        if error is None:
            after, event, counter = before._replace(status="done"), "completed", "messages_processed"
        else:
            after, event, counter = delivery.failed(before, tx.now_us, self.store.jitter()), "failed", "error_count"
        count, failures = after.delivery_count, after.failures
        self.presence.count(tx, agent_id, counter, 1)
        self.store_delivery(tx, message_id, agent_id, after, error)
        self.audit.record(tx, event, agent_id, message_id, delivery_count=count, failures=failures, error=error)
        if after.status == "dead":
            self.bury(tx, message_id, agent_id, after, str(error), state.is_broadcast)
        elif not state.is_broadcast:
            tx.execute("UPDATE messages SET status = ?, error = ? WHERE id = ?", (after.status, error, message_id))
        if after.status == "failed":
            return {"status": "failed", "due_at": iso.text(after.visible_at_us)}
        return {"status": after.status}


def letter_of(message_id: str, agent_id: str) -> str:
    """The id of an agent's dead letter of a broadcast."""
    return f"{message_id}:{agent_id}"


def _is_abandoned(state: State, now_us: int) -> bool:
    """Is a stranger's claim over? Compared as text: the stranger may write times without zone or microseconds."""
    return str(state.last_delivered_at or "") <= iso.text(max(0, now_us - delivery.VISIBILITY_MS * 1_000))


def _owner(state: State, agent_id: str | None) -> str:
    """The agent whose delivery is completed. A message to one agent is nobody else's (C4)."""
    if state.to_agent is None:
        if agent_id is None:
            raise InvalidArgument("agent_id must be given to complete a broadcast")
        return agent_id
    if agent_id not in (None, state.to_agent):
        raise NotClaimed(f"the message is addressed to {state.to_agent}, not to {agent_id}")
    return str(state.to_agent)


def _whole_message(tx: Transaction, message_id: str) -> dict[str, Any]:
    """Envelope and life time of a message, as a dead letter keeps them; a damaged payload as it was found."""
    row = tx.row(_WHOLE, (message_id,))
    message: dict[str, Any] = {**as_message(row[: len(COLUMNS)]), "created_at": row[-2], "expires_at": row[-1]}
    if "payload_error" in message:
        payload = row[COLUMNS.index("payload")]
        message["payload"] = payload.decode("utf-8", "replace") if isinstance(payload, bytes) else payload
    return message


def _is_anothers(tx: Transaction, letter_id: str, agent_id: str) -> bool:
    """Is there such a letter, of another agent?"""
    row = tx.row(
        """
        SELECT CASE WHEN json_valid(original_message) THEN original_message ->> '$.to_agent' END
        FROM dead_letter_queue WHERE id = ?
        """,
        (letter_id,),
    )
    return row is not None and row[0] != agent_id


def _refuse_unknown(tx: Transaction, message_id: str, agent_id: str | None) -> None:
    """A message that is gone is a dead letter (of a broadcast, this agent's), or was never there: NOT_CLAIMED."""
    letters = (message_id, message_id if agent_id is None else letter_of(message_id, agent_id))
    if tx.row("SELECT 1 FROM dead_letter_queue WHERE id IN (?, ?)", letters) is None:
        raise NotClaimed(f"there is no message {message_id!r:.80}")


def _check_error(error: object) -> None:
    if error is None:
        return
    if type(error) is not str or not 0 < len(error) <= ERROR_CHARS_MAX or "\0" in error:
        raise InvalidArgument(f"error must be a text of 1 to {ERROR_CHARS_MAX} characters, or absent")
    limits.payload(error)  # half surrogates


_REASONS = {
    "processing": "it is in somebody's hands",
    "failed": "it has failed, and is not due yet",
    "done": "it is done",
    "dead": "it is a dead letter",
}

_STATE = "SELECT status, delivery_count, to_agent, last_delivered_at FROM messages WHERE id = ?"

# Only the addressee, or anyone for a broadcast; and nothing that has expired (C4).
_CLAIMABLE = """
    SELECT status, delivery_count, to_agent, last_delivered_at FROM live_messages
    WHERE id = :id AND (to_agent = :agent OR to_agent IS NULL) AND live_until > :now
"""

_WHOLE = """
    SELECT id, type, version, timestamp, correlation_id, from_agent, to_agent, channel, priority, payload,
           created_at, expires_at
    FROM messages WHERE id = ?
"""
