"""The archive: processed files, by day and agent; rotated by age, and sooner on a full disk where its owner says so."""

from __future__ import annotations

import contextlib
import datetime
import logging
import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence

from refbus.kernel.files import FILE_MODE
from refbus.kernel.msgfile import Stat
from refbus.relay import ledger, tree
from refbus.relay.ledger import Row
from refbus.relay.store import Store

log = logging.getLogger("refbus.relay.archive")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class Archive:
    """archive/DATE/AGENT/FILE"""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._is_alerted = False
        self._trimmed: datetime.date | None = None  # the day on which the log was
        self._unsynced: set[tuple[str, ...]] = set()  # folders, by their parts
        self._doubted: set[str] = set()  # agents

    def move(self, agent: str, name: str, stat: Stat) -> bool:
        """Move a file out of its outbox, if it is there and still the one that was processed. False: not now."""
        path = f"{tree.AGENTS}/{agent}/{tree.OUTBOX}/{name}"
        try:
            with tree.folder(self._store.root, tree.AGENTS, agent, tree.OUTBOX) as outbox:
                status = tree.look(name, outbox)
                if tree.refusal(status) is None and tree.stat_of(status) == stat:
                    return self._moved(agent, name, outbox, path, stat)
        except OSError as error:
            if error.errno not in tree.GONE:
                self._store.troubles.add(path, error)
                return False
        return True

    def doubt(self, agent: str) -> None:
        """A file of this agent is not in its outbox: a pass that came to no end may have moved it, and not synced."""
        self._doubted.add(agent)

    def _moved(self, agent: str, name: str, outbox: int, path: str, stat: Stat) -> bool:
        """Move it. False where a link or file has the place of one of the archive's folders: the file is not gone then.

        A file that its agent has written anew since the look at it is put back: nobody has read its new content.
        """
        date = self._today().isoformat()
        try:
            with tree.folder(self._store.root, tree.ARCHIVE, date, agent, make=True) as fd:
                kept = _free_name(name, fd)
                self._unsynced |= {(), (date,), (date, agent)}
                os.rename(name, kept, src_dir_fd=outbox, dst_dir_fd=fd)
                if tree.stat_of(tree.look(kept, fd)) == stat:
                    os.chmod(kept, FILE_MODE, dir_fd=fd)
                    log.info("archived", extra={"path": path, "date": date})
                elif not tree.is_there(name, outbox):  # a new one may have the name: then both stay where they are
                    os.rename(kept, name, src_dir_fd=fd, dst_dir_fd=outbox)
        except FileNotFoundError:
            raise  # taken away meanwhile
        except OSError as error:
            self._store.troubles.add(path, error)
            return False
        return True

    def settle(self, moved: Sequence[Row] = ()) -> None:
        """Make the moves survive a power cut, and then let the ledger tell of them."""
        unsynced, doubted = self._unsynced, self._doubted
        self._unsynced, self._doubted = set(), set()
        if self._store.is_power_safe:  # without FULL the ledger, too, may forget its last commits
            for parts in sorted(unsynced.union(*map(self._folders, doubted)), reverse=True):
                with tree.folder(self._store.root, tree.ARCHIVE, *parts) as fd:
                    os.fsync(fd)
        if moved:
            with self._store.transaction() as tx:
                for row in moved:
                    ledger.archive(tx, row.id)

    def rotate(self) -> int:
        """Remove the days that are too old; and the oldest ones while the disk is nearly full, if that is wanted.

        Returns how many.
        """
        config = self._store.config
        today = self._today()
        days = min(config.retention_days, today.toordinal() - 1)  # the first day that has a name
        oldest = (today - datetime.timedelta(days=days)).isoformat()
        if today != self._trimmed:
            self._trim_log(days)
            self._trimmed = today
        removed = 0
        for date in self._dates():
            if date >= today.isoformat() or (date >= oldest and not self._is_low()):
                break
            shutil.rmtree(self._store.root / tree.ARCHIVE / date, ignore_errors=True)
            log.info("archive_removed", extra={"date": date})
            removed += 1
        return removed

    def _trim_log(self, days: int) -> None:
        """The log of the ledger's changes lasts as long as the archive, by the wall clock, which its triggers tell."""
        oldest_ms = time.time_ns() // 1_000_000 - days * 86_400_000
        if self._store.db.row("SELECT 1 FROM ledger_log WHERE at_ms < ?", (oldest_ms,)) is not None:
            self._store.db.write("DELETE FROM ledger_log WHERE at_ms < ?", (oldest_ms,))

    def disk_percent(self) -> float:
        """How full the disk is, as a user sees it."""
        disk = os.statvfs(self._store.root)
        used = disk.f_blocks - disk.f_bfree
        return 100 * used / max(1, used + disk.f_bavail)

    def watch_disk(self) -> bool:
        """Is it time to worry? Reported once, until it is better."""
        percent = self.disk_percent()
        is_over = percent >= self._store.config.disk_alert_percent
        if is_over and not self._is_alerted:
            log.warning("disk_alert", extra={"percent": round(percent, 1)})
        self._is_alerted = is_over
        return is_over

    def _is_low(self) -> bool:
        low_percent = self._store.config.disk_low_percent
        return low_percent is not None and self.disk_percent() >= low_percent

    def _folders(self, agent: str) -> Iterator[tuple[str, ...]]:
        """Every folder in which a file of this agent may lie, by its parts."""
        for date in self._dates():
            try:
                with tree.folder(self._store.root, tree.ARCHIVE, date, agent):
                    yield from ((), (date,), (date, agent))
            except OSError as error:
                if error.errno not in tree.GONE:
                    raise

    def _dates(self) -> list[str]:
        with tree.folder(self._store.root, tree.ARCHIVE) as fd:
            return sorted(name for name in os.listdir(fd) if _DATE.fullmatch(name))

    def _today(self) -> datetime.date:
        seconds = self._store.clock.now_ms() / 1000
        return datetime.datetime.fromtimestamp(seconds, datetime.UTC).date()


def _free_name(name: str, fd: int) -> str:
    """The name, or the name with the first number that is free."""
    candidate, number = name, 0
    while True:
        with contextlib.suppress(FileNotFoundError):
            tree.look(candidate, fd)
            number += 1
            candidate = f"{name}.{number}"
            continue
        return candidate
