"""The rows of `messages` (2.1): how they arrive, are claimed, and end.

pending → processing → completed → archived
                     → failed                  a message that will not be tried again
                     → pending                 one that failed for now, or was interrupted
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from refbus.kernel.msgfile import Stat
from refbus.kernel.transaction import Transaction
from refbus.relay import names, tree


class Row(NamedTuple):
    """A message of an outbox, as the ledger knows it."""

    id: int
    message_id: str
    agent: str
    path: str
    stat: Stat
    checksum: str | None
    retry_count: int

    @property
    def name(self) -> str:
        """The name of its file."""
        return self.path.rpartition("/")[2]

    @classmethod
    def of(cls, columns: Sequence[Any]) -> Row:
        """From its columns, in the order of the fields, a stat as its three."""
        id_, message_id, agent, path, size, mtime_ns, inode, checksum, retry_count = columns
        return cls(id_, message_id, agent, path, Stat(size, mtime_ns, inode), checksum, retry_count)


class Entry(NamedTuple):
    """A file that is to have a row; `reason` of one that failed at once."""

    agent: str
    name: str
    stat: Stat
    checksum: str | None = None
    kind: str | None = None
    target: str | None = None
    reason: str | None = None

    @property
    def path(self) -> str:
        """Relative to the root."""
        return f"{tree.AGENTS}/{self.agent}/{tree.OUTBOX}/{self.name}"


def insert(tx: Transaction, entry: Entry) -> None:
    """A new file."""
    tx.execute(
        "INSERT INTO messages (message_id, agent_name, direction, file_path, file_size, file_mtime_ns, file_inode, "
        "checksum, status, message_type, target, discovered_at, processed_at, last_error) "
        "VALUES (?, ?, 'outbox', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            names.message_id(entry.agent, entry.name),
            entry.agent,
            entry.path,
            *entry.stat,
            entry.checksum,
            "failed" if entry.reason else "pending",
            entry.kind,
            entry.target,
            tx.now_ms,
            tx.now_ms if entry.reason else None,
            entry.reason,
        ),
    )


def update(tx: Transaction, id_: int, entry: Entry) -> None:
    """A file that changed before it was claimed: it keeps its id and its count (R3)."""
    tx.execute(
        "UPDATE messages SET file_size = ?, file_mtime_ns = ?, file_inode = ?, checksum = ?, message_type = ?, "
        "target = ?, status = ?, processed_at = ?, last_error = COALESCE(?, last_error) WHERE id = ?",
        (
            *entry.stat,
            entry.checksum,
            entry.kind,
            entry.target,
            "failed" if entry.reason else "pending",
            tx.now_ms if entry.reason else None,
            entry.reason,
            id_,
        ),
    )


def due(tx: Transaction, after: int, retry_ms: int, at_most: int) -> list[Row]:
    """Pending messages whose time has come, in the order of their discovery (R1).

    If the clock went back behind the last attempt, it has: nobody waits until the clock has caught up.
    """
    rows = tx.rows(
        "SELECT id, message_id, agent_name, file_path, file_size, file_mtime_ns, file_inode, checksum, retry_count "
        "FROM messages WHERE status = 'pending' AND direction = 'outbox' AND id > ? "
        "AND (retry_count = 0 OR processed_at > ? "
        "OR processed_at IS NULL OR processed_at + (? << min(retry_count - 1, 20)) <= ?) ORDER BY id LIMIT ?",
        (after, tx.now_ms, retry_ms, tx.now_ms, at_most),
    )
    return [Row.of(row) for row in rows]


def claim(tx: Transaction, rows: Iterable[Row]) -> list[Row]:
    """The rows that are still pending: from here on nobody else processes them."""
    return [
        row
        for row in rows
        if tx.execute(
            "UPDATE messages SET status = 'processing' WHERE id = ? AND status = 'pending'", (row.id,)
        ).rowcount
    ]


def unclaim(tx: Transaction, id_: int) -> None:
    """As if it had not been claimed."""
    tx.execute("UPDATE messages SET status = 'pending' WHERE id = ? AND status = 'processing'", (id_,))


def complete(tx: Transaction, id_: int) -> None:
    """The message is done."""
    tx.execute(
        "UPDATE messages SET status = 'completed', processed_at = ? WHERE id = ? AND status = 'processing'",
        (tx.now_ms, id_),
    )


def archive(tx: Transaction, id_: int) -> None:
    """The message's file is in the archive."""
    tx.execute("UPDATE messages SET status = 'archived' WHERE id = ? AND status = 'completed'", (id_,))


def fail(tx: Transaction, row: Row, error: str) -> None:
    """The message will not be tried again."""
    tx.execute(
        "UPDATE messages SET status = 'failed', retry_count = ?, last_error = ?, processed_at = ? WHERE id = ?",
        (row.retry_count + 1, error, tx.now_ms, row.id),
    )


def retry(tx: Transaction, row: Row, error: str) -> None:
    """The message will be tried again, later each time."""
    tx.execute(
        "UPDATE messages SET status = 'pending', retry_count = ?, last_error = ?, processed_at = ? WHERE id = ?",
        (row.retry_count + 1, error, tx.now_ms, row.id),
    )
