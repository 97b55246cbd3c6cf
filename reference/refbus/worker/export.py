"""The JSONL export: `bus.jsonl` holds every message once, in whole lines, in seq order (W7).

`kernel.jsonl` writes the file; `export_state` is written last of all, once the file is durable. So after a crash the
file may be ahead of it, and is believed. Where the file is behind, somebody moved it away, and the export goes on
where `export_state` says (W25). A clone of a repository has the file and not the database: its lines are another
database's history, which no export may cut off.
"""

from __future__ import annotations

import json
from typing import Any

from refbus.kernel.errors import IdConflict
from refbus.kernel.jsonl import JsonlFile
from refbus.worker.message import EVERYWHERE, as_row
from refbus.worker.replies import Exported
from refbus.worker.store import JSONL_NAME, Store

LOCK_NAME = "export.lock"
ROWS_AT_ONCE = 1000


class Export:
    """export_to_jsonl."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def export_to_jsonl(self) -> Exported:
        """Append the messages that bus.jsonl lacks. Any number of exporters, any crash: each seq exactly once.

        Errors: ID_CONFLICT where the file is another database's.
        """
        file = JsonlFile(self._store.folder / JSONL_NAME, self._store.folder / LOCK_NAME, self)
        with file.locked():
            stated, given = self._store.db.row(_STATED_AND_GIVEN)
            if not stated:
                self._refuse_anothers(file, given)
            # Nobody can have exported anything beyond the last number given.
            last_seq = file.bring_up_to_date(stated if type(stated) is int and stated <= given else 0)
            if stated != last_seq:
                file.make_durable()
                self._store.db.write("INSERT OR REPLACE INTO export_state (id, last_seq) VALUES (1, ?)", (last_seq,))
        return {"last_seq": last_seq}

    def _refuse_anothers(self, file: JsonlFile, given: int) -> None:
        """Refuse a file with numbers that this database, which has exported nothing yet, never gave."""
        values = list(file.values())
        seqs = [value["seq"] for value in values if type(value) is dict and type(value.get("seq")) is int]
        if max(seqs, default=0) > given and not any(map(self.holds, values)):
            raise IdConflict(
                f"{JSONL_NAME} is another database's, as in a clone, which brings the file alone: it has messages up to"
                f" {max(seqs)}, and {given} were given here. Move it away (git mv), then export again"
            )

    def lines_after(self, last_seq: int) -> tuple[list[str], int]:
        """The next messages as lines."""
        rows = self._store.db.rows(_NEXT_ROWS, {"last": last_seq, "limit": ROWS_AT_ONCE})
        return [_line(row) for row in rows], rows[-1][0] if rows else last_seq

    def make_durable(self) -> None:
        """Rows before their lines."""
        self._store.db.make_durable()

    def holds(self, exported: Any) -> int | None:
        """The seq of a line that the log agrees with."""
        try:
            seq, message_id = exported["seq"], exported["id"]
        except (TypeError, KeyError):
            return None
        if type(seq) is not int or not 0 < seq < 2**63:
            return None
        given, stored_id = self._store.db.row(_WHO_HAS, {"seq": seq})
        # Deleted rows keep their lines. A line from the future, or with another id, was taken back by a power cut.
        return seq if seq <= given and stored_id in (None, message_id) else None


def _line(row: tuple[Any, ...]) -> str:
    return json.dumps(as_row(row), default=lambda data: data.decode("utf-8", "replace")) + "\n"


_NEXT_ROWS = f"{EVERYWHERE.format('seq > :last')} ORDER BY seq LIMIT :limit"

# The last number given may be above the newest message: a retry burns one, and a stranger may delete.
_STATED_AND_GIVEN = """
    SELECT (SELECT last_seq FROM export_state WHERE id = 1),
           coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'messages'), 0)
"""

_WHO_HAS = """
    SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'messages'), 0),
           coalesce((SELECT id FROM messages WHERE seq = :seq), (SELECT id FROM archived_messages WHERE seq = :seq))
"""
