"""Claiming and completing: at most one holder for each delivery, a retry after a failure, an end after three.

`kernel.delivery` judges. Of a message to one agent, the row in `messages` tells the state to participants that know
only the seed's tables; of a broadcast, each agent has a delivery of its own (C3).
"""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from refbus.comms.envelope import COLUMNS, as_message
from refbus.comms.route import Route
from refbus.kernel import iso
from refbus.kernel.errors import InvalidArgument, NotClaimed
from refbus.kernel.rules import delivery
from refbus.kernel.rules import limit as limits
from refbus.kernel.rules.delivery import Delivery

ERROR_CHARS_MAX = 65_536


class Claims(Route):
    """claim_message and complete_message."""

    def claim_message(self, agent_id: str, message_id: str) -> dict[str, Any]:
        """Take a message for processing. False: not there, another's, expired, done, or in somebody's hands.

        `delivery_count` is the token of this claim: a completion that shows an older one is refused.
        """
        limits.name("agent_id", agent_id)
        limits.text("message_id", message_id)
        with self.db.transaction() as connection:
            row = connection.execute(_CLAIMABLE, {"id": message_id, "agent": agent_id, "now": self._now()}).fetchone()
            if row is None:
                return {"claimed": False}
            before, is_broadcast = self._delivery(connection, message_id, agent_id, row)
            now_us = self.clock.now_us()
            if not delivery.may_claim(before, now_us):
                return {"claimed": False}
            after = delivery.claimed(before, now_us, self.visibility_ms)
            self._store(connection, message_id, agent_id, after, None)
            if not is_broadcast:
                connection.execute(
                    """
                    UPDATE messages SET status = 'processing', delivery_count = ?, last_delivered_at = ? WHERE id = ?
                    """,
                    (after.delivery_count, iso.text(now_us), message_id),
                )
                if row[0] == "pending":
                    self._count(connection, agent_id, "messages_pending", -1)
            self._record(connection, "claimed", agent_id, message_id, delivery_count=after.delivery_count)
        return {"claimed": True, "delivery_count": after.delivery_count, "visible_at": iso.text(after.visible_at_us)}

    def complete_message(
        self, message_id: str, error: str | None = None, agent_id: str | None = None, delivery_count: int | None = None
    ) -> dict[str, Any]:
        """Done, or with `error` failed: due again after the retry delay, a dead letter at the third failure.

        `agent_id` is needed for a broadcast only. What is done, failed or dead already stays as it is. Errors:
        NOT_CLAIMED where nobody has claimed it, or another claim came after the one with `delivery_count`.
        """
        limits.text("message_id", message_id)
        _check_error(error)
        if agent_id is not None:
            limits.name("agent_id", agent_id)
        if delivery_count is not None:
            limits.integer("delivery_count", delivery_count, 1)
        with self.db.transaction() as connection:
            row = connection.execute(_STATE, {"id": message_id}).fetchone()
            if row is None:
                return {"status": self._status_of_gone(connection, message_id)}
            owner = _owner(row, agent_id)
            before, is_broadcast = self._delivery(connection, message_id, owner, row)
            if before.delivery_count == 0 or delivery_count not in (None, before.delivery_count):
                raise NotClaimed(f"{message_id:.80} is not in the hands of {owner}")
            if before.status == "pending":
                if not self._is_let_go(connection, message_id, owner):
                    raise NotClaimed(f"{message_id:.80} has failed, and waits for another claim")
                # Late, and nobody has claimed it since: the work counts (C18).
                self._count(connection, owner, "messages_pending", -1)
            elif before.status != "processing":
                return {"status": before.status}
            after = self._finish(connection, message_id, owner, before, error)
            if after.status == "dead":
                self._bury(connection, message_id, owner, after, str(error), is_broadcast)
            elif not is_broadcast:
                connection.execute(
                    "UPDATE messages SET status = ?, error = ? WHERE id = ?", (after.status, error, message_id)
                )
        return {"status": after.status}

    def _finish(
        self, connection: sqlite3.Connection, message_id: str, agent_id: str, before: Delivery, error: str | None
    ) -> Delivery:
        if error is None:
            after = before._replace(status="done")
            self._count(connection, agent_id, "messages_processed", 1)
        else:
            after = delivery.failed(before, self.clock.now_us(), self._jitter())
            self._count(connection, agent_id, "error_count", 1)
        self._store(connection, message_id, agent_id, after, error)
        self._record(
            connection,
            "completed" if error is None else "failed",
            agent_id,
            message_id,
            delivery_count=after.delivery_count,
            failures=after.failures,
            error=error,
        )
        return after

    def _bury(
        self,
        connection: sqlite3.Connection,
        message_id: str,
        agent_id: str,
        after: Delivery,
        error: str,
        is_broadcast: bool,
    ) -> None:
        """To the dead letter queue. A broadcast stays for the others; its letter is this agent's."""
        message = self._whole_message(connection, message_id)
        letter_id = f"{message_id}:{agent_id}" if is_broadcast else message_id
        connection.execute(
            """
            INSERT OR REPLACE INTO dead_letter_queue (id, original_message, error, moved_at, retry_count)
            VALUES (?, ?, ?, ?, ?)
            """,
            (letter_id, json.dumps(message), error, self._now(), after.delivery_count),
        )
        if not is_broadcast:
            connection.execute("DELETE FROM messages WHERE id = ?", (message_id,))
            connection.execute("DELETE FROM message_deliveries WHERE message_id = ?", (message_id,))
        self._record(connection, "dead_letter", agent_id, message_id, retry_count=after.delivery_count)

    def _delivery(
        self, connection: sqlite3.Connection, message_id: str, agent_id: str, row: tuple[Any, ...]
    ) -> tuple[Delivery, bool]:
        """What the agent has done with the message so far; and is it a broadcast?"""
        status, count, to_agent, last_delivered_at, *_ = row
        own = connection.execute(
            """
            SELECT status, delivery_count, failures, visible_at FROM message_deliveries
            WHERE message_id = ? AND agent_id = ?
            """,
            (message_id, agent_id),
        ).fetchone()
        known = None if own is None else Delivery(own[0], own[1], own[2], iso.parse("visible_at", own[3]))
        if to_agent is None:
            return known or Delivery(), True
        count = max(count or 0, known.delivery_count if known else 0)
        if status == "pending" or known is None or known.status != status:
            # Never claimed, due again, or claimed by a participant that knows only the seed's tables.
            failures, visible_us = known.failures if known else 0, 0
            if status == "processing" and not self._is_abandoned(last_delivered_at):
                visible_us = iso.END_US
            return Delivery(status, count, failures, visible_us), False
        return known._replace(delivery_count=count), False

    def _is_let_go(self, connection: sqlite3.Connection, message_id: str, agent_id: str) -> bool:
        """Did the last claim run out, rather than end in a failure?"""
        row = connection.execute(
            "SELECT error FROM message_deliveries WHERE message_id = ? AND agent_id = ?", (message_id, agent_id)
        ).fetchone()
        return row is not None and row[0] is None

    def _is_abandoned(self, last_delivered_at: object) -> bool:
        """Is a stranger's claim over? Compared as text: the stranger may write times without zone or microseconds."""
        return str(last_delivered_at or "") <= iso.text(max(0, self.clock.now_us() - delivery.VISIBILITY_MS * 1_000))

    def _store(
        self, connection: sqlite3.Connection, message_id: str, agent_id: str, after: Delivery, error: str | None
    ) -> None:
        connection.execute(
            "INSERT OR REPLACE INTO message_deliveries VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                message_id,
                agent_id,
                after.status,
                after.delivery_count,
                after.failures,
                iso.text(after.visible_at_us),
                error,
            ),
        )

    def _whole_message(self, connection: sqlite3.Connection, message_id: str) -> dict[str, Any]:
        """Envelope and life time of a message, as a dead letter keeps them; a damaged payload as it was found."""
        row = connection.execute(_WHOLE, (message_id,)).fetchone()
        message = {**as_message(row[: len(COLUMNS)]), "created_at": row[-2], "expires_at": row[-1]}
        if "payload_error" in message:
            found = row[COLUMNS.index("payload")]
            message["payload"] = found.decode("utf-8", "replace") if isinstance(found, bytes) else found
        return message

    def _status_of_gone(self, connection: sqlite3.Connection, message_id: str) -> str:
        if connection.execute("SELECT 1 FROM dead_letter_queue WHERE id = ?", (message_id,)).fetchone():
            return "dead"
        raise NotClaimed(f"there is no message {message_id!r:.80}")


def _owner(row: tuple[Any, ...], agent_id: str | None) -> str:
    """Whose delivery is completed. A message to one agent is nobody else's (C4)."""
    to_agent = row[2]
    if to_agent is None:
        if agent_id is None:
            raise InvalidArgument("agent_id must be given to complete a broadcast")
        return agent_id
    if agent_id not in (None, to_agent):
        raise NotClaimed(f"the message is addressed to {to_agent}, not to {agent_id}")
    return str(to_agent)


def _check_error(error: object) -> None:
    if error is None:
        return
    if type(error) is not str or not 0 < len(error) <= ERROR_CHARS_MAX or "\0" in error:
        raise InvalidArgument(f"error must be a text of 1 to {ERROR_CHARS_MAX} characters, or absent")
    limits.payload(error)  # half surrogates


_STATE = "SELECT status, delivery_count, to_agent, last_delivered_at FROM messages WHERE id = :id"

# Only the addressee, or anyone for a broadcast; and nothing that has expired (C4).
_CLAIMABLE = """
    SELECT status, delivery_count, to_agent, last_delivered_at FROM messages
    WHERE id = :id AND (to_agent = :agent OR to_agent IS NULL) AND (expires_at IS NULL OR expires_at > :now)
"""

_WHOLE = """
    SELECT id, type, version, timestamp, correlation_id, from_agent, to_agent, channel, priority, payload,
           created_at, expires_at
    FROM messages WHERE id = ?
"""
