"""Archival: messages that everybody has processed leave the log, then the file is compacted.

*Everybody* is every agent that has a cursor, and the addressee. An agent that only ever polled has none: one that
wants to be waited for acknowledges seq 0 when it starts. Dead letters and redriven messages stay. An archived message
keeps its seq and its id: its id remains taken, search finds it, and the export, should it lag, still writes it.
"""

from __future__ import annotations

import contextlib
from typing import Any

from refbus.kernel import cursor
from refbus.kernel.errors import BusError
from refbus.worker.store import Store


class Archive(Store):
    """archive."""

    def archive(self) -> dict[str, Any]:
        """Move out what is acknowledged by all; then vacuum."""
        with self.db.transaction() as connection:
            cursors = [seq for (seq,) in connection.execute("SELECT last_acked_seq FROM cursors")]
            below_seq = cursor.archivable_below(cursors)
            connection.execute(_COPY, {"below": below_seq})
            moved = connection.execute(
                "DELETE FROM messages WHERE seq <= ? AND seq IN (SELECT seq FROM archived_messages)",
                (below_seq,),
            ).rowcount
        if moved:
            self._compact()
        return {"archived": moved, "below_seq": below_seq}

    def _compact(self) -> None:
        # The messages have moved already; a busy or full disk only leaves the file larger than it need be.
        with contextlib.suppress(BusError):
            self.db.write("VACUUM")
            self.db.rows("PRAGMA wal_checkpoint(TRUNCATE)")


_COPY = """
    INSERT INTO archived_messages
    SELECT seq, id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload, payload_ref
    FROM messages
    WHERE seq <= :below
      AND (to_agent IS NULL OR to_agent IN (SELECT agent_id FROM cursors))
      AND seq NOT IN (SELECT seq FROM dead_letters)
      AND seq NOT IN (SELECT seq FROM redriven)
"""
