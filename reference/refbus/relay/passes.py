"""One pass: the detection loop of 2.2, once round.

    clock → agents → scan, validate, ledger → process → archive

A pass that an error ends leaves what a crash would leave, so the next one begins with the recovery. An error that one
file meets a second time ends no pass: it is told when all else is done (`Troubles`).
"""

from __future__ import annotations

import errno
import time
from typing import TypedDict

from refbus.kernel import iso
from refbus.kernel.errors import BusError, DiskFull, after_a_part, of_os_error
from refbus.relay.archive import Archive
from refbus.relay.audit import Audit
from refbus.relay.export import Done, Export
from refbus.relay.metrics import Metrics
from refbus.relay.presence import Presence
from refbus.relay.process import Processing
from refbus.relay.recovery import Recovery
from refbus.relay.scan import Scanner
from refbus.relay.spawn import Spawns
from refbus.relay.store import Store


class Pass(TypedDict):
    """The work of one pass: rows of outboxes, and audit records."""

    discovered: int
    completed: int
    failed: int
    retried: int
    refused: int


class Passes:
    """Everything that happens in a folder happens in one of them."""

    def __init__(
        self,
        store: Store,
        audit: Audit,
        presence: Presence,
        spawns: Spawns,
        scanner: Scanner,
        processing: Processing,
        recovery: Recovery,
        archive: Archive,
        metrics: Metrics,
    ) -> None:
        self._store, self._audit, self._presence, self._spawns = store, audit, presence, spawns
        self._scanner, self._processing, self._recovery = scanner, processing, recovery
        self._archive, self._metrics, self._export = archive, metrics, Export(store)
        self._last_ms: int | None = None
        self._is_interrupted = False
        self._has_rest = True  # of an earlier orchestrator's, or of a pass that was interrupted

    def scan(self) -> Pass:
        """Find new files, deliver, archive. Returns when nothing is left to do for now.

        Errors: DISK_FULL, IO_ERROR, BUSY; the next pass takes up what this one left. INVALID_ARGUMENT: the clock stands
        where no day has a name, and nothing was looked at.
        """
        iso.text(self._store.clock.now_ms() * 1000)
        began = time.perf_counter()
        refused = self._audit.added
        self._store.troubles.begin()
        if self._is_interrupted:
            self.recover()
        self._is_interrupted = True
        try:
            with after_a_part():  # an error knows of its own step alone
                done = self._scan()
        except OSError as error:
            raise _told(error) from error
        done["refused"] = self._audit.added - refused
        self._metrics.passes += 1
        self._metrics.last_pass_s = time.perf_counter() - began
        self._metrics.outcomes.update(done)
        if self._store.troubles.first is not None:
            raise _told(self._store.troubles.first) from self._store.troubles.first
        self._is_interrupted = False
        return done

    def recover(self) -> None:
        """Finish or undo what was interrupted."""
        try:
            with after_a_part():  # a copy may lie in its inbox before its row says so
                self._recovery.recover()
        except OSError as error:
            raise _told(error) from error
        self._is_interrupted, self._has_rest = self._store.troubles.first is not None, True

    def restore(self, path: str) -> Done:
        """Put a copy of the ledger in its place, and bring it and the files together.

        Errors: INVALID_ARGUMENT, IO_ERROR.
        """
        running = self._spawns.running()
        done = self._export.restore(path)
        self._spawns.adopt(running)
        self.recover()
        return done

    def _scan(self) -> Pass:
        self._notice_clock()
        self._spawns.bury()
        agents = self._presence.refresh()
        self._archive.watch_disk()
        self._archive.rotate()
        if self._store.config.archive and self._has_rest:
            self._recovery.archive_the_rest()
            self._has_rest = False
        scanned = self._scanner.scan(agents)
        if self._store.config.archive:
            for entry in scanned.rejected:
                self._archive.move(entry.agent, entry.name, entry.stat)
            self._archive.settle()
        counts = self._processing.process(scanned.held)
        self._scanner.doubtful |= counts.changed
        failed = counts.failed + len(scanned.rejected)
        return {
            "discovered": scanned.new,
            "completed": counts.completed,
            "failed": failed,
            "retried": counts.retried,
            "refused": 0,
        }

    def _notice_clock(self) -> None:
        """Record a clock that went back; the order is that of discovery, whatever the clock says (6.4, R1)."""
        now_ms = self._store.clock.now_ms()
        if self._last_ms is not None and now_ms < self._last_ms:
            with self._store.transaction() as tx:
                self._audit.add(tx, "clock_back", "", f"{self._last_ms - now_ms} ms")
        self._last_ms = now_ms


def _told(error: OSError) -> BusError:
    """The error that an operator must know of. A part of the pass may have been done."""
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return DiskFull(str(error), definite=False) if is_full else of_os_error(error, definite=False)
