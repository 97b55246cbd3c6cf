"""Where an open database file stands, and whether its path still leads there.

A write into a file that was removed or replaced is lost, and SQLite does not say so. The log beside the file counts as
the file does: it holds the newest commits.

A look at two files costs as much as a fifth of a short transaction. Their folder's time changes with every name that
comes or goes in it, so one look at the folder is enough while that time stays the same.
"""

from __future__ import annotations

import os
import time
from typing import NamedTuple

# A change so soon after the one before may leave a folder's time as it was: file systems count in ticks.
TICK_NS = 100_000_000


class Identity(NamedTuple):
    """The values that tell one file from another."""

    device: int
    inode: int


def identity(path: str) -> Identity | None:
    """The identity of the file to which a path leads; None where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return Identity(status.st_dev, status.st_ino)


class Sight:
    """The file and its log, as a connection found them."""

    __slots__ = ("_files", "_folder", "_is_linked", "_paths", "_seen")

    def __init__(self, path: str) -> None:
        self._folder, self._paths = os.path.dirname(path) or ".", (path, f"{path}-wal")
        self._files = self._found()
        self._is_linked = os.path.islink(path)  # to another folder, perhaps
        self._seen: tuple[int, int] | None = None  # the folder, when they were last found there

    @property
    def file(self) -> Identity | None:
        """The database file."""
        return self._files[0]

    def is_still_true(self) -> bool:
        """Do the paths lead to the same two files?"""
        try:
            folder = os.stat(self._folder)
        except OSError:
            return False
        if (folder.st_ino, folder.st_mtime_ns) == self._seen:
            return True
        if self._files != self._found():
            return False
        if not self._is_linked and time.time_ns() - folder.st_mtime_ns > TICK_NS:
            self._seen = folder.st_ino, folder.st_mtime_ns
        return True

    def _found(self) -> tuple[Identity | None, Identity | None]:
        return identity(self._paths[0]), identity(self._paths[1])
