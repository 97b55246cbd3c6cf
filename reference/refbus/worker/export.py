"""The JSONL export: `bus.jsonl` holds every message once, in whole lines, in seq order (W7).

The file is the truth about what was exported; `export_state` only tells others. An exporter holds a lock on a file,
which the system takes back when the holder dies. It then repairs the end of the file (a torn line, lines that the
log does not hold because a power cut took them back), appends what is missing, makes it durable, and last of all
writes `export_state`. A crash at any point leaves a state that the next exporter handles the same way.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from refbus.kernel import retry
from refbus.kernel.db import BUSY_TIMEOUT_MS
from refbus.kernel.errors import Busy, of_os_error
from refbus.kernel.files import sync_folder, write_all
from refbus.worker.message import as_row
from refbus.worker.store import JSONL_NAME, Store

LOCK_NAME = "export.lock"
ROWS_AT_ONCE = 1000
TAIL_BYTES = 64 * 1024


class Export(Store):
    """export_to_jsonl."""

    def export_to_jsonl(self) -> dict[str, Any]:
        """Append to bus.jsonl what it lacks. Any number of exporters, any crash: each seq exactly once."""
        with self._export_lock():
            stated = self.db.row("SELECT last_seq FROM export_state WHERE id = 1")
            try:
                fd = os.open(self.folder / JSONL_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            except OSError as error:
                raise of_os_error(error, definite=True) from error
            try:
                last_seq = self._bring_file_up_to_date(fd)
                if stated != (last_seq,):
                    _make_durable(fd, self.folder)
                    self.db.write(
                        "INSERT OR REPLACE INTO export_state (id, last_seq) VALUES (1, ?)", (last_seq,)
                    )
            finally:
                os.close(fd)
        return {"last_seq": last_seq}

    def _bring_file_up_to_date(self, fd: int) -> int:
        """Repair, then append; return the last seq in the file. Where the disk is full, leave it repaired."""
        try:
            size, last_seq = self._repair(fd)
        except OSError as error:
            raise of_os_error(error, definite=False) from error
        try:
            os.lseek(fd, size, os.SEEK_SET)
            while rows := self.db.rows(_NEXT_ROWS, {"last": last_seq, "limit": ROWS_AT_ONCE}):
                write_all(fd, "".join(map(_line, rows)).encode())
                last_seq = rows[-1][0]
        except OSError as error:
            is_undone = False
            with contextlib.suppress(OSError):
                os.ftruncate(fd, size)
                is_undone = True
            raise of_os_error(error, definite=is_undone) from error
        return last_seq

    def _repair(self, fd: int) -> tuple[int, int]:
        """Cut off what is no whole line of this log; return the file's size and its last seq."""
        present = end = os.fstat(fd).st_size
        last_seq = 0
        while end:
            start, line = _last_line(fd, end)
            seq = self._seq_in_log(line)
            if seq is not None:
                last_seq = seq
                break
            end = start
        if end < present:
            os.ftruncate(fd, end)
        return end, last_seq

    def _seq_in_log(self, line: bytes) -> int | None:
        """The seq of a whole line that the log agrees with; None for anything else."""
        if not line.endswith(b"\n"):
            return None
        try:
            exported = json.loads(line)
            seq, message_id = exported["seq"], exported["id"]
        except (ValueError, TypeError, KeyError, RecursionError):
            return None
        if type(seq) is not int or not 0 < seq < 2**63:
            return None
        newest, stored_id = self.db.row(_WHO_HAS, {"seq": seq})
        # Deleted rows keep their lines. A line from the future, or with another id, was taken back by a power cut.
        return seq if seq <= newest and stored_id in (None, message_id) else None

    @contextlib.contextmanager
    def _export_lock(self) -> Iterator[None]:
        try:
            fd = os.open(self.folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise of_os_error(error, definite=True) from error
        try:
            _lock(fd)
            yield
        finally:
            os.close(fd)


def _make_durable(fd: int, folder: Path) -> None:
    try:
        os.fsync(fd)
        sync_folder(folder)
    except OSError as error:
        raise of_os_error(error, definite=False) from error


def _lock(fd: int) -> None:
    """Wait as long as for the database's lock, then say BUSY."""
    deadline = time.monotonic() + retry.LOCK_ATTEMPTS_MAX * BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            # flock belongs to the open file: it also excludes another thread, and dies with its holder.
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise Busy("another exporter holds the lock") from None
            time.sleep(random.uniform(0.001, 0.010))
        except OSError as error:
            raise of_os_error(error, definite=True) from error


def _last_line(fd: int, end: int) -> tuple[int, bytes]:
    """Where the last line before `end` starts, and its bytes."""
    tail, start = b"", end
    while start:
        step = min(TAIL_BYTES, start)
        start -= step
        tail = os.pread(fd, step, start) + tail
        newline = tail.rfind(b"\n", 0, len(tail) - 1)
        if newline >= 0:
            return start + newline + 1, tail[newline + 1 :]
    return 0, tail


def _line(row: tuple[Any, ...]) -> str:
    return json.dumps(as_row(row), default=lambda data: data.decode("utf-8", "replace")) + "\n"


_NEXT_ROWS = """
    SELECT seq, id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload, payload_ref
    FROM messages WHERE seq > :last
    UNION ALL
    SELECT seq, id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload, payload_ref
    FROM archived_messages WHERE seq > :last
    ORDER BY seq LIMIT :limit
"""

_WHO_HAS = """
    SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'messages'), 0),
           coalesce((SELECT id FROM messages WHERE seq = :seq), (SELECT id FROM archived_messages WHERE seq = :seq))
"""
