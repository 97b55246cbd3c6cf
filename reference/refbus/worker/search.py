"""Full-text search over types and payloads, archived messages included.

The search brings the index up to date before it looks: publishing stays cheap, and messages that a stranger's
process inserted are found as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from refbus.kernel import jsontext
from refbus.kernel.errors import BlobCorrupt, BlobInvalid, BlobMissing
from refbus.kernel.rules import limit as limits
from refbus.worker.blob import Blobs
from refbus.worker.message import EVERYWHERE
from refbus.worker.reader import Reader
from refbus.worker.replies import Messages
from refbus.worker.store import Store

ROWS_AT_ONCE = 1000


class Search:
    """search."""

    def __init__(self, store: Store, blobs: Blobs, reader: Reader) -> None:
        self._store, self._blobs, self._reader = store, blobs, reader

    def search(self, query: str, limit: int = 100) -> Messages:
        """Messages that hold every word of the query, in seq order. Words only, no query syntax.

        Payloads in blobs and archived messages are searched as well. Errors: INVALID_ARGUMENT; IO_ERROR where the disk
        does not give a blob: an unread one is not indexed as if it were empty.
        """
        words = limits.text("query", query).split()
        limits.integer("limit", limit)
        self.bring_up_to_date()
        quoted = " ".join('"' + word.replace('"', '""') + '"' for word in words)
        rows = self._store.db.rows(_MATCHING, {"query": quoted, "limit": limit}) if words else []
        return {"messages": self._reader.messages(rows)}

    def bring_up_to_date(self) -> None:
        """Index what was published since the last search."""
        given, indexed = self._store.db.row(_GIVEN_AND_INDEXED)
        while indexed < given:
            indexed = self._index_some()

    def _index_some(self) -> int:
        """A part at a time, so that publishers get the lock in between. How far the index reaches now."""
        with self._store.transaction() as tx:
            given, indexed = tx.row(_GIVEN_AND_INDEXED)
            rows = tx.rows(_NOT_INDEXED, {"last": indexed, "limit": ROWS_AT_ONCE})
            tx.executemany(
                "INSERT INTO search_index (rowid, type, body) VALUES (?, ?, ?)",
                ((seq, type_, self.words(text, ref)) for seq, type_, text, ref in rows),
            )
            # Numbers that a retry burned have no row: the index is complete when no row is left.
            indexed = rows[-1][0] if len(rows) == ROWS_AT_ONCE else given
            tx.execute("UPDATE search_state SET last_seq = ? WHERE id = 1", (indexed,))
        return int(indexed)

    def words(self, text: Any, ref: Any) -> str:
        """The readable parts of a payload: its strings, numbers and member names."""
        try:
            text = text if ref is None else self._blobs.load_text(ref)
            return "" if text is None else " ".join(_leaves(jsontext.decode(text)))
        except (BlobMissing, BlobInvalid, BlobCorrupt, ValueError):
            return text if isinstance(text, str) else ""


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, member in value.items():
            yield from _leaves(key)
            yield from _leaves(member)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif value is not None:
        # Half surrogates (from a stranger) cannot be stored as text.
        yield str(value).encode("utf-8", "replace").decode()


# The last number given, which may be above the newest message.
_GIVEN_AND_INDEXED = """
    SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'messages'), 0),
           (SELECT last_seq FROM search_state WHERE id = 1)
"""

_NOT_INDEXED = """
    SELECT seq, type, payload, payload_ref FROM messages WHERE seq > :last
    UNION ALL
    SELECT seq, type, payload, payload_ref FROM archived_messages WHERE seq > :last
    ORDER BY seq LIMIT :limit
"""

# A message that another program deleted is still in the index, and counts for nothing.
_MATCHING = f"""
    WITH found(seq) AS (
        SELECT rowid FROM search_index
        WHERE search_index MATCH :query
          AND (rowid IN (SELECT seq FROM messages) OR rowid IN (SELECT seq FROM archived_messages))
        ORDER BY rowid LIMIT :limit)
    {EVERYWHERE.format("seq IN (SELECT seq FROM found)")}
    ORDER BY seq LIMIT :limit
"""
