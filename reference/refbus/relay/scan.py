"""Scan, validate, ledger (2.2, phases 1 to 3): which files of the outboxes become messages.

The listing is the truth. A wake-up of the orchestrator only decides when it is made.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import operator
import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from refbus.kernel import msgfile
from refbus.kernel.msgfile import Malformed, Stat, Wait
from refbus.kernel.transaction import Transaction
from refbus.relay import ledger, names, tree
from refbus.relay.audit import Audit
from refbus.relay.ledger import Entry
from refbus.relay.limit import Rate
from refbus.relay.presence import Presence, Refusal
from refbus.relay.store import Store

log = logging.getLogger("refbus.relay.scan")
PRIORITY_DEFAULT = 5


class Found(NamedTuple):
    """A file in an outbox that may be a message. `is_being_written`: .pending holds the same name."""

    agent: str
    name: str
    stat: Stat
    is_being_written: bool

    @property
    def path(self) -> str:
        """Relative to the root."""
        return f"{tree.AGENTS}/{self.agent}/{tree.OUTBOX}/{self.name}"


class Known(NamedTuple):
    """The ledger's entry of a path."""

    id: int
    status: str
    stat: Stat


class News(NamedTuple):
    """The findings of one scan, before they are written."""

    new: list[tuple[int, Entry]]  # with its priority
    changed: list[tuple[int, Entry]]  # with its row
    held: set[int]  # rows whose file changed and is not ready
    refusals: list[Refusal]
    limited: set[str]
    orphans: list[str]


class Scanned(NamedTuple):
    """The effect of one scan on the ledger."""

    new: int
    rejected: list[Entry]
    held: set[int]  # rows that may not be claimed: their files changed and are not ready


class Scanner:
    """Remembers since when each file has been as it is."""

    def __init__(self, store: Store, audit: Audit, presence: Presence, rate: Rate) -> None:
        self._store, self._audit, self._presence, self._rate = store, audit, presence, rate
        self._first_seen: dict[str, tuple[Stat, int]] = {}
        self._told: set[str] = set()  # paths that nobody might touch in the last pass
        self._forbidden: set[str] = set()  # and in this one
        self._now_ns = self._monotonic_ns = 0
        self.next_ms: int | None = None  # when the first file that waits will be old enough
        # Paths of pending files that are not those that were read, though their size and time say so: until they are.
        self.doubtful: set[str] = set()

    def scan(self, agents: Iterable[str]) -> Scanned:
        """Bring the ledger up to date."""
        self._now_ns, self._monotonic_ns = self._store.clock.now_us() * 1_000, self._store.clock.monotonic_ns()
        self.next_ms = None
        self._told, self._forbidden = self._forbidden, set()
        refusals: list[Refusal] = []
        orphans: list[str] = []
        seen: dict[str, tuple[Stat, int]] = {}
        files = [file for agent in agents for file in self._files(agent, seen, refusals, orphans)]
        self._first_seen = seen
        news = self._news(files, refusals, orphans)
        self._store.troubles.stop()
        newly_limited = self._rate.news(news.limited)
        if any(news[:2]) or refusals or orphans or newly_limited:
            with self._store.transaction() as tx:
                self._write(tx, news, newly_limited)
        self._rate.told(news.limited)
        rejected = [entry for _, entry in news.new + news.changed if entry.reason]
        return Scanned(len(news.new), rejected, news.held)

    # -- listing

    def _files(
        self, agent: str, seen: dict[str, tuple[Stat, int]], refusals: list[Refusal], orphans: list[str]
    ) -> Iterator[Found]:
        """An agent's files that may be messages, by name."""
        try:
            with tree.folder(self._store.root, tree.AGENTS, agent, tree.OUTBOX) as outbox:
                pending = self._pending(agent, outbox, seen, orphans)
                yield from self._outbox(agent, outbox, pending, seen, refusals)
        except OSError as error:
            if error.errno not in tree.GONE:
                self._leave(f"{tree.AGENTS}/{agent}/{tree.OUTBOX}", error)
                return
            try:
                refusals += self._presence.make_folders(agent)
            except OSError as again:
                self._leave(f"{tree.AGENTS}/{agent}/{tree.OUTBOX}", again)

    def _outbox(
        self, agent: str, outbox: int, pending: set[str], seen: dict[str, tuple[Stat, int]], refusals: list[Refusal]
    ) -> Iterator[Found]:
        for name in sorted(name for name in os.listdir(outbox) if name.endswith(names.SUFFIX)):
            path = f"{tree.AGENTS}/{agent}/{tree.OUTBOX}/{names.printable(name)}"
            try:
                status = tree.look(name, outbox)
            except FileNotFoundError:
                continue
            except PermissionError:
                raise  # to look at anything in here is forbidden
            except OSError as error:
                self._leave(path, error)
                continue
            event = tree.refusal(status) or (None if names.is_file_name(name) else "bad_file_name")
            if event is not None:
                refusals.append(Refusal(event, path, tree.identity(status)))
                continue
            stat = tree.stat_of(status)
            self._remember(path, stat, seen)
            yield Found(agent, name, stat, name in pending)

    def _pending(self, agent: str, outbox: int, seen: dict[str, tuple[Stat, int]], orphans: list[str]) -> set[str]:
        """The names in .pending; files that nobody will finish are deleted (6.1)."""
        fd = os.open(tree.PENDING, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=outbox)
        try:
            present = set()
            for name in sorted(os.listdir(fd)):
                path = f"{tree.AGENTS}/{agent}/{tree.OUTBOX}/{tree.PENDING}/{names.printable(name)}"
                try:
                    status = tree.look(name, fd)
                    if tree.refusal(status) in (None, "hard_link"):
                        stat = tree.stat_of(status)
                        self._remember(path, stat, seen)
                        age_ns = msgfile.age_ns(stat, self._now_ns, self._monotonic_ns - seen[path][1])
                        if age_ns > self._store.config.orphan_ms * 1_000_000:
                            os.unlink(name, dir_fd=fd)
                            orphans.append(path)
                            continue
                except FileNotFoundError:
                    continue
                except OSError as error:
                    self._leave(path, error)
                present.add(name)
            return present
        finally:
            os.close(fd)

    def _remember(self, path: str, stat: Stat, seen: dict[str, tuple[Stat, int]]) -> None:
        before = self._first_seen.get(path)
        seen[path] = before if before is not None and before[0] == stat else (stat, self._monotonic_ns)

    # -- validating

    def _news(self, seen_files: list[Found], refusals: list[Refusal], orphans: list[str]) -> News:
        known = self._known(seen_files)
        copies = self._ids_of_copies(file for file in seen_files if file.path not in known)
        news = News([], [], set(), refusals, set(), orphans)
        for agent, files in itertools.groupby(seen_files, operator.attrgetter("agent")):
            try:
                with tree.folder(self._store.root, tree.AGENTS, agent, tree.OUTBOX) as outbox:
                    self._sift(files, outbox, known, copies, news)
            except OSError as error:
                if error.errno not in tree.GONE:
                    self._leave(f"{tree.AGENTS}/{agent}/{tree.OUTBOX}", error)
        return news

    def _sift(self, files: Iterable[Found], outbox: int, known: dict[str, Known], copies: set[str], news: News) -> None:
        """Collect the new files of one outbox."""
        room = -1
        for file in files:
            row = known.get(file.path)
            if row is None and names.message_id(file.agent, file.name) in copies:
                news.refusals.append(Refusal("name_reused", file.path, file.stat))
            elif row is None:
                if room < 0:
                    room = self._rate.room(file.agent)
                if room == 0:
                    # Not even read: a flood costs its sender's files a stat, and nobody else anything.
                    news.limited.add(file.agent)
                elif (judged := self._judged(file, outbox)) is not None:
                    room -= 1
                    news.new.append(judged)
            elif row.status != "pending":
                if not file.stat.is_as(row.stat):
                    news.refusals.append(Refusal("name_reused", file.path, file.stat))
            elif not file.stat.is_as(row.stat) or file.path in self.doubtful:
                judged = self._judged(file, outbox)
                if judged is None:
                    news.held.add(row.id)
                else:
                    self.doubtful.discard(file.path)
                    news.changed.append((row.id, judged[1]))

    def _known(self, files: list[Found]) -> dict[str, Known]:
        if not files:
            return {}
        rows = self._store.db.rows(
            "SELECT file_path, id, status, file_size, file_mtime_ns, file_inode FROM messages "
            "WHERE file_path IN (SELECT value FROM json_each(?))",
            (json.dumps([file.path for file in files]),),
        )
        return {row[0]: Known(row[1], row[2], Stat(*row[3:])) for row in rows}

    def _ids_of_copies(self, new: Iterable[Found]) -> set[str]:
        """Ids that a new file would have, and that a message in an inbox has already."""
        ids = [names.message_id(file.agent, file.name) for file in new]
        if not ids:
            return set()
        rows = self._store.db.rows(
            "SELECT message_id FROM messages WHERE message_id IN (SELECT value FROM json_each(?))", (json.dumps(ids),)
        )
        return {id_ for (id_,) in rows}

    def _judged(self, file: Found, outbox: int) -> tuple[int, Entry] | None:
        """The file's priority and its row; None: not yet."""
        config = self._store.config
        unchanged_ns = self._monotonic_ns - self._first_seen[file.path][1]
        age_ns = msgfile.age_ns(file.stat, self._now_ns, unchanged_ns)
        if file.is_being_written:
            self._wait(config.settle_ms)
            return None
        if age_ns < config.settle_ms * 1_000_000:
            self._wait(config.settle_ms - age_ns // 1_000_000)
            return None
        try:
            before, data, after = tree.read(file.name, outbox, config.message_bytes_max)
        except OSError as error:
            if error.errno not in tree.GONE:
                self._leave(file.path, error)
            return None  # if it went, or is no file any more, the next scan says what it is
        if tree.refusal(before) is not None or tree.stat_of(before) != file.stat:
            self._wait(config.settle_ms)
            return None
        verdict = msgfile.judge(
            data,
            file.stat,
            tree.stat_of(after),
            self._now_ns,
            unchanged_ns,
            settle_ms=config.settle_ms,
            malformed_ms=config.malformed_ms,
            bytes_max=config.message_bytes_max,
            content_hash=names.content_hash(file.name),
        )
        if isinstance(verdict, Wait):
            self._wait(config.malformed_ms - age_ns // 1_000_000)
            return None
        digest = hashlib.sha256(data).hexdigest()
        if isinstance(verdict, Malformed):
            error_text = verdict.reason + (f": {verdict.detail}" if verdict.detail else "")
            checksum = None if verdict.reason == "too_large" else digest
            return PRIORITY_DEFAULT, Entry(file.agent, file.name, file.stat, checksum, reason=error_text)
        priority = PRIORITY_DEFAULT if verdict.priority is None else verdict.priority
        return priority, Entry(file.agent, file.name, file.stat, digest, verdict.kind, verdict.to)

    def _leave(self, path: str, error: OSError) -> None:
        """A path that cannot be touched waits until that changes, and holds up nobody else's messages.

        If its owner forbids it, that is told once.
        """
        self._wait(self._store.config.malformed_ms)
        if isinstance(error, PermissionError):
            is_told = path in self._told or path in self._forbidden
            self._forbidden.add(path)
            if is_told:
                return
        self._store.troubles.add(path, error)

    def _wait(self, ms: int) -> None:
        """A file will be looked at again so much later."""
        ms = max(1, ms)
        self.next_ms = ms if self.next_ms is None else min(self.next_ms, ms)

    # -- writing

    def _write(self, tx: Transaction, news: News, limited: set[str]) -> None:
        for refusal in news.refusals:
            self._audit.add(tx, refusal.event, refusal.path, None, refusal.stat)
        for path in news.orphans:
            self._audit.add(tx, "orphan_removed", path)
        self._rate.tell(tx, limited)
        for _, entry in sorted(news.new, key=lambda new: (new[0], new[1].name, new[1].agent)):
            ledger.insert(tx, entry)
            log.info("discovered", extra={"path": entry.path})
        for id_, entry in news.changed:
            ledger.update(tx, id_, entry)
        for agent in {entry.agent for _, entry in news.new}:
            self._presence.seen(tx, agent)
        for entry in (entry for _, entry in news.new + news.changed if entry.reason):
            log.warning("rejected", extra={"path": entry.path, "reason": entry.reason})
