"""The log: publish appends, and nothing changes what stands in it."""

from __future__ import annotations

import json
from typing import Any

from refbus.kernel import blob, jsontext
from refbus.kernel.errors import BlobCorrupt, BlobInvalid, BlobMissing, IdConflict, InvalidArgument
from refbus.kernel.rules import limit as limits
from refbus.kernel.transaction import Transaction
from refbus.worker.blob import Blobs
from refbus.worker.message import Draft, new_ids
from refbus.worker.replies import Published, PublishedMany
from refbus.worker.route import Routes
from refbus.worker.signing import Signatures
from refbus.worker.store import Store


class Log:
    """publish and publish_many."""

    def __init__(self, store: Store, blobs: Blobs, signatures: Signatures, routes: Routes) -> None:
        self._store, self._blobs, self._signatures, self._routes = store, blobs, signatures, routes
        self._needs_judging = store.unread_max is not None or signatures.key is not None

    def publish(self, agent_id: str, message: dict[str, Any]) -> Published:
        """Append one message durably. The same id and content again is the first message again (W3).

        `message` has a type, and may have id, to (without it a broadcast), correlation_id, in_reply_to and payload.
        Errors: INVALID_ARGUMENT, PAYLOAD_TOO_LARGE, ID_CONFLICT, BACKPRESSURE.
        """
        limits.name("agent_id", agent_id)
        draft = Draft(message, *new_ids(1))
        if draft.is_large:
            self._save_payload(agent_id, draft)
        if self._needs_judging:
            with self._store.transaction() as tx:
                return {"id": draft.id, "seq": self.append(tx, agent_id, draft)}
        values = draft.values(agent_id, self._store.clock.now_ms())
        cursor = self._store.db.write(_INSERT_UNLESS_ARCHIVED if draft.is_retryable else _INSERT, values)
        if cursor.rowcount == 0 or cursor.lastrowid is None:
            with self._store.snapshot() as tx:
                return {"id": draft.id, "seq": self._seq_of_retry(tx, agent_id, draft)}
        return {"id": draft.id, "seq": cursor.lastrowid}

    def publish_many(self, agent_id: str, messages: list[dict[str, Any]]) -> PublishedMany:
        """Append messages in one transaction: all or none.

        Errors: INVALID_ARGUMENT, PAYLOAD_TOO_LARGE, ID_CONFLICT, BACKPRESSURE.
        """
        limits.name("agent_id", agent_id)
        if type(messages) is not list:
            raise InvalidArgument("messages must be a list")
        drafts = list(map(Draft, messages, new_ids(len(messages))))
        texts = [draft.text for draft in drafts if draft.is_large and draft.text is not None]
        for draft in drafts:
            if draft.is_large and draft.text is not None:
                draft.ref = blob.ref_of(draft.text.encode())
        with self._store.transaction() as tx:
            seqs = self._append_at_once(tx, agent_id, drafts)
            if seqs is None:
                seqs = [self.append(tx, agent_id, draft) for draft in drafts]
            # Nothing is stored for a batch that is refused, and every blob is there before its row can be seen.
            for text in texts:
                self._blobs.save_text(text)
        return {"ids": [draft.id for draft in drafts], "seqs": seqs}

    def append(self, tx: Transaction, agent_id: str, draft: Draft) -> int:
        """Insert a draft, under the bound on unread messages and signed where that is asked for. Its seq."""
        if _stored(tx, draft.id) is not None:
            return self._seq_of_retry(tx, agent_id, draft)
        self._refuse_beyond_bound(tx, draft)
        values = draft.values(agent_id, tx.now_ms)
        seq = tx.execute(_INSERT, values).lastrowid
        assert seq is not None
        self._signatures.sign(tx, (seq, *values))
        return seq

    def _append_at_once(self, tx: Transaction, agent_id: str, drafts: list[Draft]) -> list[int] | None:
        """Insert drafts that need no judging and are all new; None, and nothing inserted, where they are not."""
        if self._needs_judging or not drafts:
            return None
        chosen_ids = [draft.id for draft in drafts if draft.is_retryable]
        if chosen_ids and (
            len(set(chosen_ids)) < len(chosen_ids) or tx.row(_IS_ANY_KNOWN, {"ids": json.dumps(chosen_ids)})
        ):
            return None
        tx.executemany(_INSERT, [draft.values(agent_id, tx.now_ms) for draft in drafts])
        # Under the write lock nobody else takes a number, so the newest ones are ours.
        (last,) = tx.row("SELECT last_insert_rowid()")
        return list(range(last - len(drafts) + 1, last + 1))

    def _save_payload(self, agent_id: str, draft: Draft) -> None:
        """The blob must be there before its row, but nothing is to be stored for a message that will be refused."""
        with self._store.snapshot() as tx:
            if _stored(tx, draft.id) is not None:
                self._seq_of_retry(tx, agent_id, draft)
            else:
                self._refuse_beyond_bound(tx, draft)
        assert draft.text is not None
        draft.ref = self._blobs.save_text(draft.text)

    def _refuse_beyond_bound(self, tx: Transaction, draft: Draft) -> None:
        """The bound is on what a recipient's poll would return. A broadcast has no recipient to wait for."""
        unread_max = self._store.unread_max
        if unread_max is not None and draft.to is not None:
            limits.room(draft.to, self._routes.count_unread(tx, draft.to, unread_max), 1, unread_max)

    def _seq_of_retry(self, tx: Transaction, agent_id: str, draft: Draft) -> int:
        """The seq of the message that has this id already, if it is the same message."""
        stored = _stored(tx, draft.id)
        assert stored is not None
        seq, *content, text, ref = stored
        if content != [agent_id, draft.to, draft.type, draft.correlation_id, draft.in_reply_to] or not (
            self._is_same_payload(draft.text, text, ref)
        ):
            raise IdConflict(f"id {draft.id!r:.80} is taken by a message with other content, seq {seq}")
        return int(seq)

    def _is_same_payload(self, mine: str | None, text: str | None, ref: str | None) -> bool:
        """The same value; another language may have written its members in another order."""
        if mine is None:
            return text is None and ref is None
        if ref == blob.ref_of(mine.encode()):
            return True  # whatever has become of the file
        try:
            theirs = text if ref is None else self._blobs.load_text(ref)
            return theirs is not None and (
                mine == theirs
                or jsontext.canonical(jsontext.decode(mine)) == jsontext.canonical(jsontext.decode(theirs))
            )
        except (BlobMissing, BlobInvalid, BlobCorrupt, ValueError, TypeError):
            return False  # but an error of the disk is another matter


def _stored(tx: Transaction, message_id: str) -> tuple[Any, ...] | None:
    row = tx.row(_BY_ID, {"id": message_id})
    return None if row is None else tuple(row)


# For ids that are known to be new.
_INSERT = """
    INSERT INTO messages (id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload, payload_ref)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""

# DO NOTHING is for the id alone: any other constraint is an error (W1).
# The id of an archived message is taken, too. One statement, so that no archival can come in between.
_INSERT_UNLESS_ARCHIVED = """
    INSERT INTO messages (id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload, payload_ref)
    SELECT * FROM (VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)) AS new
    WHERE NOT EXISTS (SELECT 1 FROM archived_messages WHERE id = new.column1)
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
