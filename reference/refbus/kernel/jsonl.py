"""An append-only JSON Lines file that mirrors a table: every row once, in whole lines, in seq order (W7).

A writer holds a lock on a file, which the system takes back when the holder dies. It then repairs the end of the file
(a torn line, lines that the table does not hold because a power cut took them back), appends what is missing and makes
it durable. A row is made durable before its line is written: otherwise a power cut could take back a row from the table
that a reader has seen in the file, and its number would be given again. A crash at any point leaves a state that the
next writer handles the same way.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from refbus.kernel.db import BUSY_TIMEOUT_MS
from refbus.kernel.errors import Busy, of_os_error
from refbus.kernel.files import FILE_MODE, sync, sync_folder, write_all
from refbus.kernel.rules import retry

TAIL_BYTES = 64 * 1024


class Source(Protocol):
    """The table behind the file."""

    def lines_after(self, last_seq: int) -> tuple[list[str], int]:
        """The next whole lines and the seq of the last; no lines: that was all."""
        ...

    def make_durable(self) -> None:
        """Let the rows that `lines_after` told survive a power cut from now on. Raises OSError."""
        ...

    def holds(self, exported: Any) -> int | None:
        """The seq of a line's value that the table agrees with; None for anything else."""
        ...


class JsonlFile:
    """The file at `path`; `lock_path` is never deleted.

    With `own_start`, others append to the file, too: a line that does not begin so is theirs, whatever it holds, and
    stays. So does a whole line that begins so and is not in the table: another table had this file before and wrote it.
    """

    def __init__(self, path: Path, lock_path: Path, source: Source, *, own_start: bytes = b"") -> None:
        self._path, self._lock_path, self._source, self._own_start = path, lock_path, source, own_start

    def bring_up_to_date(self, exported_to: int = 0) -> int:
        """Repair, append what is missing; return the last seq exported, 0 for none. Under `locked` only.

        Rows at or below `exported_to` are not missing: their lines were moved away with the file that held them.
        """
        try:
            # Behind what others append meanwhile, not over it.
            fd = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        except OSError as error:
            raise of_os_error(error, definite=True) from error
        try:
            return self._append_missing(fd, exported_to)
        finally:
            os.close(fd)

    def values(self) -> Iterator[Any]:
        """The values of the whole lines; of a line that is no JSON, None."""
        try:
            with self._path.open("rb") as file:
                yield from map(_value_of, file)
        except FileNotFoundError:
            return
        except OSError as error:
            raise of_os_error(error, definite=True) from error

    def make_durable(self) -> None:
        """Sync the file and its folder's entry."""
        try:
            sync(self._path)
            sync_folder(self._path.parent)
        except OSError as error:
            raise of_os_error(error, definite=False) from error

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """One writer at a time, of all threads and processes."""
        try:
            fd = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        except OSError as error:
            raise of_os_error(error, definite=True) from error
        try:
            _lock(fd)
            yield
        finally:
            os.close(fd)

    def _append_missing(self, fd: int, exported_to: int) -> int:
        """If the disk is full, the file is left repaired, unless others have appended meanwhile."""
        try:
            size, last_seq = self._repair(fd)
        except OSError as error:
            raise of_os_error(error, definite=False) from error
        end, data, is_alone = size, b"", True  # where the file ends if nobody else appends; did nobody?
        try:
            last_seq = max(last_seq, exported_to)
            gap = b"\n" if size and os.pread(fd, 1, size - 1) != b"\n" else b""  # another's last line has no end
            while True:
                lines, newest = self._source.lines_after(last_seq)
                if not lines:
                    return last_seq
                self._source.make_durable()
                data = gap + "".join(lines).encode()
                write_all(fd, data)
                end, last_seq, gap = end + len(data), newest, b""
                is_alone = is_alone and os.fstat(fd).st_size == end
        except OSError as error:
            is_undone = False
            with contextlib.suppress(OSError):
                is_undone = is_alone and _cut_off(fd, end, size, torn=data)
            raise of_os_error(error, definite=is_undone) from error

    def _repair(self, fd: int) -> tuple[int, int]:
        """Cut off an end that is not whole lines of this table; return the file's size and its last seq."""
        present = end = keep = os.fstat(fd).st_size
        last_seq = 0
        while end:
            start, line = _last_line(fd, end)
            if self._is_ours(line):
                value = _value_of(line)
                seq = self._source.holds(value)
                if seq is not None:
                    last_seq = seq
                    break
                if keep == end and (not self._own_start or (value is None and _has_broken_off(line))):
                    keep = start
            end = start
        if keep < present and not _cut_off(fd, present, keep):
            return self._repair(fd)
        return keep, last_seq

    def _is_ours(self, line: bytes) -> bool:
        """Also one that was torn in its first letters, or of which a power cut left zeros."""
        start = line[: len(self._own_start)].rstrip(b"\0")
        return self._own_start.startswith(start)


def _cut_off(fd: int, end: int, keep: int, *, torn: bytes = b"") -> bool:
    """Make the file end earlier. False where more stands behind `end` than a first part of `torn`: another's line."""
    if not torn.startswith(os.pread(fd, len(torn) + 1, end)):
        return False
    os.ftruncate(fd, keep)
    return True


def _has_broken_off(line: bytes) -> bool:
    """A torn line has no end, or zeros. If it has an end and no zeros, another's words are in it, too."""
    return b"\0" in line or not line.endswith(b"\n")


def _value_of(line: bytes) -> Any:
    """The JSON value of a whole line; None for anything else."""
    if not line.endswith(b"\n"):
        return None
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _lock(fd: int) -> None:
    """Wait as long as for the database's lock, then say BUSY."""
    import fcntl  # only an export needs it, and not every system has it

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
