"""After a crash (2.4): everything that was begun is finished or undone, before anything new is done.

The same follows a pass that an error ended, a full disk for one: it left the same states as a crash.
"""

from __future__ import annotations

import json
import logging
import os

from refbus.kernel.msgfile import Stat
from refbus.kernel.transaction import Transaction
from refbus.relay import ledger, tree
from refbus.relay.archive import Archive
from refbus.relay.deliver import Delivery
from refbus.relay.ledger import Row
from refbus.relay.spawn import Spawns
from refbus.relay.store import Store

log = logging.getLogger("refbus.relay.recovery")


class Recovery:
    """Idempotent: it may itself be killed at any point."""

    def __init__(self, store: Store, delivery: Delivery, spawns: Spawns, archive: Archive) -> None:
        self._store, self._delivery, self._spawns, self._archive = store, delivery, spawns, archive

    def recover(self) -> None:
        """Operations, then interrupted messages, then rubbish."""
        self._finish_operations()
        self._spawns.bury()
        self._release_claims()
        self._sweep()

    def _finish_operations(self) -> None:
        rows = self._store.db.rows(
            "SELECT id, operation_type, payload FROM pending_operations WHERE completed_at IS NULL ORDER BY id"
        )
        for id_, kind, text in rows:
            payload = json.loads(text)
            log.warning("recovered", extra={"operation": kind, "payload": payload})
            if kind == "deliver":
                self._finish_delivery(id_, payload)
            else:
                with self._store.transaction() as tx:
                    if self._spawns.recover(tx, id_, kind, payload):
                        ledger.complete(tx, payload["message"])

    def _finish_delivery(self, operation: int, payload: dict[str, object]) -> None:
        lost = self._delivery.place(payload)
        messages = payload["messages"]
        assert isinstance(messages, list)
        with self._store.transaction() as tx:
            for message in messages:
                ledger.complete(tx, message)
            self._delivery.complete(tx, operation, payload, lost)

    def _release_claims(self) -> None:
        """Make messages that nobody works on any more pending again, or failed where the file is gone."""
        with self._store.transaction() as tx:
            for row in self._rows(tx, "processing"):
                if self._stat(row) is None:
                    ledger.fail(tx, row, "file_disappeared")
                else:
                    ledger.unclaim(tx, row.id)

    def _sweep(self) -> None:
        """Empty tmp/: no operation is open, so its content belongs to none."""
        with os.scandir(self._store.root / tree.TMP) as entries:
            for entry in list(entries):
                if entry.is_dir(follow_symlinks=False):
                    self._delivery.remove(entry.name)
                else:
                    os.unlink(entry.path)

    def archive_the_rest(self) -> None:
        """Archive files that were handled and not moved: nobody could, or the archive was off. A pass does it.

        Not before: only then does anybody know which day it is.
        """
        with self._store.snapshot() as tx:
            done, failed = self._rows(tx, "completed"), self._rows(tx, "failed")
        moved = [row for row in done if self._move(row)]
        for row in failed:
            self._move(row)
        self._archive.settle(moved)

    def _move(self, row: Row) -> bool:
        stat = self._stat(row)
        if stat is None or not stat.is_as(row.stat):
            self._archive.doubt(row.agent)
            return True
        return self._archive.move(row.agent, row.name, stat)

    def _rows(self, tx: Transaction, status: str) -> list[Row]:
        rows = tx.rows(
            "SELECT id, message_id, agent_name, file_path, file_size, file_mtime_ns, file_inode, checksum, retry_count "
            "FROM messages WHERE status = ? AND direction = 'outbox' ORDER BY id",
            (status,),
        )
        return [Row.of(row) for row in rows]

    def _stat(self, row: Row) -> Stat | None:
        """The stat of the row's file; None if the file is gone. If nobody can say, it is as it was."""
        try:
            status = os.lstat(self._store.root / row.path)
        except OSError as error:
            return None if error.errno in tree.GONE else row.stat
        return None if tree.refusal(status) else tree.stat_of(status)
