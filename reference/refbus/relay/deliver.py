"""Copies into inboxes, each exactly once, whatever is killed when.

    stage       all copies are written into a folder of their own in tmp/, and synced
    record      one transaction: their rows, and the operation that says which file goes where
    place       each is renamed into its inbox
    (complete)  one transaction: copies, messages and operation are done

Before `record` nothing has happened, and the files in tmp/ are rubbish. After it, a file that is still in tmp/ has not
been placed, and one that is gone has: its reader may have taken it, so it is not written again.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import logging
import os
import secrets
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from refbus.kernel.files import FILE_MODE, write_all
from refbus.kernel.msgfile import Stat
from refbus.kernel.transaction import Transaction
from refbus.relay import names, tree
from refbus.relay.presence import Presence
from refbus.relay.store import Store

log = logging.getLogger("refbus.relay.deliver")

# A link, a file, a folder that nobody may write to or on another disk, or a folder under the copy's name: all these are
# the agent's doing, and stay so.
_NO_INBOX = frozenset(
    {errno.ELOOP, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.EXDEV, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY}
)
_INBOXES_MADE = 3  # for one copy: an agent may remove its inbox while something is put into it, and may do it again


class Copy(NamedTuple):
    """The copy for one inbox. `uuid` is the sent file's, so that the copy can be traced."""

    recipient: str
    uuid: str
    kind: str
    target: str
    data: bytes


class Delivery:
    """The operation `deliver` of pending_operations."""

    def __init__(self, store: Store, presence: Presence) -> None:
        self._store, self._presence = store, presence

    def stage(self, copies: list[Copy]) -> tuple[str, list[Stat]]:
        """Write the files; returns their folder in tmp/ and their stats. On an error nothing is left."""
        folder = secrets.token_hex(8)
        path = self._store.root / tree.TMP / folder
        os.mkdir(path, 0o700)
        try:
            with tree.folder(self._store.root, tree.TMP, folder) as fd:
                stats = [self._write(str(number), copy.data, fd) for number, copy in enumerate(copies)]
                if self._store.is_power_safe:
                    os.fsync(fd)
            if self._store.is_power_safe:
                # A folder that is gone says that all were placed.
                with tree.folder(self._store.root, tree.TMP) as tmp:
                    os.fsync(tmp)
        except BaseException:
            self.remove(folder)
            raise
        return folder, stats

    def record(
        self, tx: Transaction, folder: str, copies: list[Copy], stats: list[Stat], messages: list[int]
    ) -> tuple[int, dict[str, Any]]:
        """The intent, and the names in the inboxes; returns the operation's id and payload."""
        newest: dict[str, int] = {}
        moves = []
        for number, (copy, stat) in enumerate(zip(copies, stats, strict=True)):
            name = self._free_name(tx, copy, newest.get(copy.recipient))
            newest[copy.recipient] = names.time_ns(name)
            row = tx.execute(
                "INSERT INTO messages (message_id, agent_name, direction, file_path, file_size, file_mtime_ns, "
                "file_inode, checksum, status, message_type, target, discovered_at) "
                "VALUES (?, ?, 'inbox', ?, ?, ?, ?, ?, 'processing', ?, ?, ?)",
                (
                    names.message_id(copy.recipient, name),
                    copy.recipient,
                    f"{tree.AGENTS}/{copy.recipient}/{tree.INBOX}/{name}",
                    *stat,
                    hashlib.sha256(copy.data).hexdigest(),
                    copy.kind,
                    copy.target,
                    tx.now_ms,
                ),
            )
            moves.append([str(number), copy.recipient, name, row.lastrowid])
        payload = {"dir": folder, "copies": moves, "messages": messages}
        return begin(tx, "deliver", payload), payload

    def place(self, payload: dict[str, Any]) -> list[int]:
        """Rename what is still in tmp/; returns the rows of copies whose inbox takes none."""
        with contextlib.ExitStack() as opened:
            try:
                staged = opened.enter_context(tree.folder(self._store.root, tree.TMP, payload["dir"]))
            except FileNotFoundError:
                return []  # all are placed, and the folder is removed
            lost = [
                row
                for number, recipient, name, row in payload["copies"]
                if not self._move(number, staged, recipient, name)
            ]
        placed = {recipient for _, recipient, _, row in payload["copies"] if row not in lost}
        # Without FULL the ledger, too, may forget its last commits when the power goes.
        for recipient in sorted(placed) if self._store.is_power_safe else ():
            with (
                contextlib.suppress(FileNotFoundError),
                tree.folder(self._store.root, tree.AGENTS, recipient, tree.INBOX) as inbox,
            ):
                os.fsync(inbox)
        return lost

    def complete(self, tx: Transaction, operation: int, payload: dict[str, Any], lost: list[int]) -> None:
        """All copies are where they belong, but for the lost ones."""
        tx.executemany(
            "UPDATE messages SET status = 'completed', processed_at = ? WHERE id = ? AND status = 'processing'",
            [(tx.now_ms, row) for *_, row in payload["copies"] if row not in lost],
        )
        tx.executemany(
            "UPDATE messages SET status = 'failed', last_error = 'inbox_lost', processed_at = ? WHERE id = ?",
            [(tx.now_ms, row) for row in lost],
        )
        for recipient in sorted({recipient for _, recipient, _, row in payload["copies"] if row in lost}):
            self._presence.tell_inbox(tx, recipient)
        for _, recipient, name, row in payload["copies"]:
            log.info("lost" if row in lost else "delivered", extra={"id": names.message_id(recipient, name)})
        end(tx, operation)

    def remove(self, folder: str) -> None:
        """Take a folder of tmp/ away, with what is left in it; no link is followed (R8)."""
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self._store.root / tree.TMP / folder)

    def _write(self, name: str, data: bytes, fd: int) -> Stat:
        file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE, dir_fd=fd)
        try:
            write_all(file, data)
            os.fsync(file)
            return tree.stat_of(os.fstat(file))
        finally:
            os.close(file)

    def _move(self, number: str, staged: int, recipient: str, name: str) -> bool:
        """Into the inbox, unless that was done. False: there is no inbox to put it into."""
        for _ in range(_INBOXES_MADE):
            try:
                with tree.folder(self._store.root, tree.AGENTS, recipient, tree.INBOX, make=True) as inbox:
                    os.rename(number, name, src_dir_fd=staged, dst_dir_fd=inbox)
                return True
            except FileNotFoundError:
                if not tree.is_there(number, staged):
                    return True
            except OSError as error:
                if error.errno not in _NO_INBOX:
                    raise
                return False
        return False

    def _free_name(self, tx: Transaction, copy: Copy, newest: int | None) -> str:
        """Names in an inbox rise, even if the clock stands or goes back.

        The copy's id must be free: an agent that writes to itself may have used the name already.
        """
        if newest is None:
            row = tx.row(
                "SELECT file_path FROM messages WHERE agent_name = ? AND direction = 'inbox' ORDER BY id DESC LIMIT 1",
                (copy.recipient,),
            )
            newest = -1 if row is None else names.time_ns(row[0].rpartition("/")[2])
            # The newest that an inbox held when another ledger was put in the place of one that knew it.
            before = tx.row("SELECT inbox_newest_ns FROM restored WHERE id = 1")
            newest = max(newest, -1 if before is None else int(before[0]))
        time_ns = max(tx.now_us * 1_000, newest + 1)
        while True:
            name = names.file_name(time_ns, copy.uuid)
            id_ = names.message_id(copy.recipient, name)
            if tx.row("SELECT 1 FROM messages WHERE message_id = ?", (id_,)) is None:
                return name
            time_ns += 1


def newest_in_inboxes(root: Path) -> int:
    """The highest time in a name of a file that lies in any inbox, in nanoseconds; -1 without one."""
    file_names = (path.name for path in root.glob(f"{tree.AGENTS}/*/{tree.INBOX}/*{names.SUFFIX}"))
    return max((names.time_ns(name) for name in file_names if names.is_file_name(name)), default=-1)


def begin(tx: Transaction, kind: str, payload: dict[str, Any]) -> int:
    """Write down what is about to be done, in several steps; returns the operation's id."""
    row = tx.execute(
        "INSERT INTO pending_operations (operation_type, payload, created_at) VALUES (?, ?, ?)",
        (kind, json.dumps(payload), tx.now_ms),
    )
    assert row.lastrowid is not None
    return row.lastrowid


def end(tx: Transaction, operation: int) -> None:
    """The operation is over, one way or the other."""
    tx.execute("UPDATE pending_operations SET completed_at = ? WHERE id = ?", (tx.now_ms, operation))
