"""The log: publish appends, and nothing changes what stands in it."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from refbus.kernel import jsontext
from refbus.kernel.errors import BusError, IdConflict, InvalidArgument
from refbus.kernel.rules import limit as limits
from refbus.worker import signing
from refbus.worker.blob import Blobs
from refbus.worker.message import Draft, new_ids

Values = tuple[str, int, str, str | None, str, str | None, str | None, str | None, str | None]


class Log(Blobs):
    """publish and publish_many."""

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        """Append one message durably. The same id and content again is the first message again (W3)."""
        limits.name("agent_id", agent_id)
        draft = Draft(message, *new_ids(1))
        if draft.text is not None and not limits.is_inline(draft.text):
            # The blob must be there before its row, but nothing is to be stored for what will be refused.
            self._refuse_early(agent_id, draft)
        values = self._values(agent_id, draft, self._now_ms())
        if self.unread_max is not None or self._signing_key is not None:
            with self.db.transaction() as connection:
                return {"id": draft.id, "seq": self._append_judged(connection, agent_id, draft, values)}
        cursor = self.db.write(_INSERT_UNLESS_ARCHIVED if draft.is_retryable else _INSERT, values)
        if cursor.rowcount == 0:
            with self.db.transaction("BEGIN") as connection:
                return {"id": draft.id, "seq": self._seq_of_retry(connection, agent_id, draft)}
        return {"id": draft.id, "seq": cursor.lastrowid}

    def publish_many(self, agent_id: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
        """Append messages in one transaction: all or none."""
        limits.name("agent_id", agent_id)
        if type(messages) is not list:
            raise InvalidArgument("messages must be a list")
        drafts = list(map(Draft, messages, new_ids(len(messages))))
        for draft in drafts:
            if draft.text is not None and not limits.is_inline(draft.text):
                self._refuse_early(agent_id, draft)
        now_ms = self._now_ms()
        rows = [self._values(agent_id, draft, now_ms) for draft in drafts]
        with self.db.transaction() as connection:
            seqs = self._append_at_once(connection, drafts, rows)
            if seqs is None:
                seqs = [
                    self._append_judged(connection, agent_id, draft, values)
                    for draft, values in zip(drafts, rows, strict=True)
                ]
        return {"ids": [draft.id for draft in drafts], "seqs": seqs}

    def _append_at_once(
        self, connection: sqlite3.Connection, drafts: list[Draft], rows: list[Values]
    ) -> list[int] | None:
        """Insert rows that need no judging and are all new; None, and nothing inserted, where they are not."""
        if self.unread_max is not None or self._signing_key is not None or not rows:
            return None
        chosen_ids = [draft.id for draft in drafts if draft.is_retryable]
        if chosen_ids and (
            len(set(chosen_ids)) < len(chosen_ids)
            or connection.execute(_IS_ANY_KNOWN, {"ids": json.dumps(chosen_ids)}).fetchone()
        ):
            return None
        connection.executemany(_INSERT, rows)
        # Under the write lock nobody else takes a number, so the newest ones are ours.
        last = self._newest_seq(connection)
        return list(range(last - len(rows) + 1, last + 1))

    def _values(self, agent_id: str, draft: Draft, now_ms: int) -> Values:
        """The row to insert, its blob saved."""
        text, ref = draft.text, None
        if text is not None and not limits.is_inline(text):
            ref, text = self._save_text(text), None
        return (draft.id, now_ms, agent_id, draft.to, draft.type, draft.correlation_id, draft.in_reply_to, text, ref)

    def _append_judged(self, connection: sqlite3.Connection, agent_id: str, draft: Draft, values: Values) -> int:
        """Insert inside a transaction, under the bound on unread messages and signed where that is asked for."""
        if self._stored(connection, draft.id) is not None:
            return self._seq_of_retry(connection, agent_id, draft)
        self._refuse_beyond_bound(connection, draft)
        seq = connection.execute(_INSERT, values).lastrowid
        assert seq is not None
        if self._signing_key is not None:
            connection.execute(
                "INSERT OR REPLACE INTO signatures (seq, mac) VALUES (?, ?)",
                (seq, signing.mac(self._signing_key, (seq, *values))),
            )
        return seq

    def _refuse_early(self, agent_id: str, draft: Draft) -> None:
        with self.db.transaction("BEGIN") as connection:
            if self._stored(connection, draft.id) is not None:
                self._seq_of_retry(connection, agent_id, draft)
            else:
                self._refuse_beyond_bound(connection, draft)

    def _refuse_beyond_bound(self, connection: sqlite3.Connection, draft: Draft) -> None:
        """The bound is on what a recipient's poll would return. A broadcast has no recipient to wait for."""
        if self.unread_max is None or draft.to is None:
            return
        values = {"agent": draft.to, "bound": self.unread_max}
        (unread,) = connection.execute(_COUNT_UNREAD, values).fetchone()
        limits.room(draft.to, unread, 1, self.unread_max)

    def _seq_of_retry(self, connection: sqlite3.Connection, agent_id: str, draft: Draft) -> int:
        """The seq of the message that has this id already, if it is the same message."""
        stored = self._stored(connection, draft.id)
        assert stored is not None
        seq, *said, text, ref = stored
        if said != [agent_id, draft.to, draft.type, draft.correlation_id, draft.in_reply_to] or not (
            self._is_same_payload(draft.text, text, ref)
        ):
            raise IdConflict(f"id {draft.id!r:.80} is taken by a message with other content, seq {seq}")
        assert isinstance(seq, int)
        return seq

    def _stored(self, connection: sqlite3.Connection, message_id: str) -> tuple[Any, ...] | None:
        row = connection.execute(_BY_ID, {"id": message_id}).fetchone()
        return None if row is None else tuple(row)

    def _is_same_payload(self, mine: str | None, text: str | None, ref: str | None) -> bool:
        """The same value; another language may have written its members in another order."""
        try:
            theirs = text if ref is None else self._load_text(ref)
            if mine is None or theirs is None:
                return mine is theirs
            return mine == theirs or (
                jsontext.canonical(jsontext.decode(mine)) == jsontext.canonical(jsontext.decode(theirs))
            )
        except (BusError, ValueError, TypeError):
            return False

    def _newest_seq(self, connection: sqlite3.Connection) -> int:
        """The newest seq ever given, archived or not."""
        row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'messages'").fetchone()
        return 0 if row is None else int(row[0])


# For ids that are known to be new.
_INSERT = """
    INSERT INTO messages (id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload, payload_ref)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""

# DO NOTHING is for the id alone: any other constraint is an error (W1).
# The id of an archived message is taken, too. One statement, so that no archival can come in between.
_INSERT_UNLESS_ARCHIVED = """
    INSERT INTO messages (id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload, payload_ref)
    SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9
    WHERE NOT EXISTS (SELECT 1 FROM archived_messages WHERE id = ?1)
    ON CONFLICT (id) DO NOTHING
"""

_IS_ANY_KNOWN = """
    SELECT 1 FROM json_each(:ids) AS chosen
    WHERE EXISTS (SELECT 1 FROM messages WHERE id = chosen.value)
       OR EXISTS (SELECT 1 FROM archived_messages WHERE id = chosen.value)
    LIMIT 1
"""

_BY_ID = """
    SELECT seq, from_agent, to_agent, type, correlation_id, in_reply_to, payload, payload_ref
    FROM messages WHERE id = :id
    UNION ALL
    SELECT seq, from_agent, to_agent, type, correlation_id, in_reply_to, payload, payload_ref
    FROM archived_messages WHERE id = :id
"""

# Counts no further than the bound, so its cost does not depend on how much lies unread.
_COUNT_UNREAD = """
    WITH position(seq) AS (SELECT coalesce((SELECT last_acked_seq FROM cursors WHERE agent_id = :agent), 0))
    SELECT count(*) FROM (
        SELECT * FROM (SELECT 1 FROM messages, position
                       WHERE to_agent = :agent AND messages.seq > position.seq LIMIT :bound)
        UNION ALL
        SELECT * FROM (SELECT 1 FROM messages, position
                       WHERE to_agent IS NULL AND messages.seq > position.seq LIMIT :bound)
    )
"""
