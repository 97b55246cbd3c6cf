"""The processing phase (2.2, phase 4): claim, handle, complete, archive, in the order of discovery.

Plain messages go in batches, one set of transactions for all of them. A message that changes the meaning of a later one
(a subscription, a spawn) is a batch of its own.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from refbus.kernel import msgfile
from refbus.kernel.msgfile import FormatError, Message
from refbus.kernel.transaction import Transaction
from refbus.relay import ledger, names, tree
from refbus.relay.archive import Archive
from refbus.relay.blob import Attachments
from refbus.relay.deliver import Copy, Delivery
from refbus.relay.failure import Changed, Failure, Later
from refbus.relay.ledger import Row
from refbus.relay.requests import Requests
from refbus.relay.route import Route
from refbus.relay.store import Store

log = logging.getLogger("refbus.relay.process")
BATCH = 100
_ORCHESTRATORS = frozenset({"spawn", "release", "continuity"})


@dataclass
class Batch:
    """Messages that were handled and are not written yet."""

    done: list[Row] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)
    failed: list[tuple[Row, Failure]] = field(default_factory=list)
    held: list[Row] = field(default_factory=list)
    effects: list[Callable[[Transaction], None]] = field(default_factory=list)


@dataclass
class Counts:
    """Of one pass, in rows."""

    completed: int = 0
    failed: int = 0
    retried: int = 0
    changed: set[str] = field(default_factory=set)  # paths of files that are no longer those in the ledger


class Processing:
    """Everything that happens to a message after it is in the ledger."""

    def __init__(
        self,
        store: Store,
        route: Route,
        attachments: Attachments,
        requests: Requests,
        delivery: Delivery,
        archive: Archive,
    ) -> None:
        self._store, self._route, self._attachments = store, route, attachments
        self._requests, self._delivery, self._archive = requests, delivery, archive

    def process(self, held: set[int]) -> Counts:
        """All messages that are due, but for those that are held."""
        counts, last = Counts(), 0
        while True:
            with self._store.snapshot() as tx:
                due = ledger.due(tx, last, self._store.config.retry_ms, BATCH)
            if not due:
                return counts
            last = due[-1].id
            with self._store.transaction() as tx:
                claimed = ledger.claim(tx, [row for row in due if row.id not in held])
            self._handle(claimed, counts)

    def _handle(self, rows: list[Row], counts: Counts) -> None:
        batch = Batch()
        for row in rows:
            try:
                row, message, data = self._read(row)
                self._route.refuse_bad_address(message.to)
                if message.kind in _ORCHESTRATORS and message.to != names.ORCHESTRATOR:
                    raise Failure("misdirected", message.kind)
                self._attachments.verify(message)
                if message.to != names.ORCHESTRATOR:
                    batch.copies += self._copies(row, message, data)
                elif message.kind not in ("message", "ack", "nack"):
                    self._finish(batch, counts)
                    batch = Batch()
                    request = self._requests.handle(row, message)
                    batch.copies += request.copies
                    batch.effects += request.effects
                    batch.done.append(row)
                    self._finish(batch, counts)
                    batch = Batch()
                    continue
                batch.done.append(row)
            except Failure as failure:
                batch.failed.append((self._as_it_stands(row), failure))
            except Changed:
                counts.changed.add(row.path)
                batch.held.append(row)
            except Later:
                batch.held.append(row)
        self._finish(batch, counts)

    def _read(self, row: Row) -> tuple[Row, Message, bytes]:
        """The message, as it was when it entered the ledger. Raises Changed if its file is another one now (R3).

        The row has the stat of the file that was read: no other one is put away for it.
        """
        try:
            with tree.folder(self._store.root, tree.AGENTS, row.agent, tree.OUTBOX) as outbox:
                before, data, after = tree.read(row.name, outbox, self._store.config.message_bytes_max)
        except OSError as error:
            if error.errno not in tree.GONE:
                self._store.troubles.add(row.path, error)
                self._store.troubles.stop()
                raise Later from error
            raise Failure("file_disappeared") from error
        if tree.refusal(before) is not None:
            raise Failure("file_disappeared")
        stat = tree.stat_of(before)
        is_same = stat == tree.stat_of(after) and stat.is_as(row.stat)
        config = self._store.config
        if is_same and before.st_size > config.message_bytes_max:
            # It arrived under an orchestrator that took more (R4).
            raise Failure("too_large", f"{before.st_size} bytes, more than {config.message_bytes_max}")
        if not is_same or hashlib.sha256(data).hexdigest() != row.checksum:
            raise Changed
        try:
            return row._replace(stat=stat), msgfile.parse(data), data
        except FormatError as error:
            raise Failure(error.reason, str(error)) from error

    def _as_it_stands(self, row: Row) -> Row:
        """The row with its file's present inode, if the file is the one that is known: that one is put away."""
        try:
            stat = tree.stat_of(os.lstat(self._store.root / row.path))
        except OSError:
            return row
        return row._replace(stat=stat) if stat.is_as(row.stat) else row

    def _copies(self, row: Row, message: Message, data: bytes) -> list[Copy]:
        uuid = names.uuid(row.name)
        copy = msgfile.format_copy(row.agent, row.message_id, data)
        recipients = self._route.recipients(row.agent, message.to)
        return [Copy(recipient, uuid, message.kind, message.to, copy) for recipient in recipients]

    def _finish(self, batch: Batch, counts: Counts) -> None:
        """Write a batch: copies first, then what it did in the ledger, then the archive."""
        operation, folder = 0, ""
        payload: dict[str, Any] = {}
        lost: list[int] = []
        if batch.copies:
            folder, stats = self._delivery.stage(batch.copies)
            with self._store.transaction() as tx:
                operation, payload = self._delivery.record(
                    tx, folder, batch.copies, stats, [row.id for row in batch.done]
                )
            lost = self._delivery.place(payload)
        if not (batch.done or batch.failed or batch.held):
            return
        with self._store.transaction() as tx:
            for row in batch.done:
                ledger.complete(tx, row.id)
            for row in batch.held:
                ledger.unclaim(tx, row.id)
            retried = [self._fail(tx, row, failure) for row, failure in batch.failed].count(True)
            for effect in batch.effects:
                effect(tx)
            if batch.copies:
                self._delivery.complete(tx, operation, payload, lost)
        if folder:
            self._delivery.remove(folder)
        self._put_away(batch)
        counts.completed += len(batch.done)
        counts.retried += retried
        counts.failed += len(batch.failed) - retried
        for row in batch.done:
            log.info("completed", extra={"id": row.message_id})

    def _fail(self, tx: Transaction, row: Row, failure: Failure) -> bool:
        """Record a failure; True: it will be tried again (R4)."""
        is_retried = failure.is_transient and row.retry_count < self._store.config.retries_max
        (ledger.retry if is_retried else ledger.fail)(tx, row, str(failure))
        log.warning("retried" if is_retried else "failed", extra={"id": row.message_id, "error": str(failure)})
        return is_retried

    def _put_away(self, batch: Batch) -> None:
        config = self._store.config
        if not config.archive:
            return
        for row, failure in batch.failed:
            if not failure.is_transient or row.retry_count >= config.retries_max:
                self._archive.move(row.agent, row.name, row.stat)
        moved = [row for row in batch.done if self._archive.move(row.agent, row.name, row.stat)]
        self._archive.settle(moved)
