"""The folder (section 1): its layout, its permissions, and how it is entered without following a link.

Agents are not trusted with names: a folder is opened part by part from the root, each part without following links, and
all work in it goes by its descriptor. So nothing that is swapped for a symbolic link in between leads outside (R8).
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from refbus.kernel.files import FOLDER_MODE, make_folder
from refbus.kernel.msgfile import Stat

AGENTS, OUTBOX, INBOX, PENDING = "agents", "outbox", "inbox", ".pending"
ATTACHMENTS, ARCHIVE, TMP, LEDGER, CONFIG, LOCK = "attachments", "archive", "tmp", "ledger.db", "config.json", ".lock"

# The errors of a call where nothing stands, or something other than the expected file or folder.
GONE = frozenset({errno.ENOENT, errno.ELOOP, errno.ENOTDIR, errno.ENXIO})
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
CHUNK_BYTES = 2**20  # of one read: its buffer is made before it is known how much there is
_LAST_NS = 2**63 - 1
# Without O_NONBLOCK, a fifo that is put in a file's place would hold its reader for ever.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def make(root: Path) -> None:
    """Make everything that an orchestrator needs, for its owner alone."""
    os.chmod(root, FOLDER_MODE)
    for name in (AGENTS, ATTACHMENTS, ARCHIVE, TMP):
        make_folder(root / name)
        with folder(root, name) as fd:
            os.fchmod(fd, FOLDER_MODE)


def make_agent(root: Path, name: str) -> None:
    """Make the missing folders of an agent. OSError where a link or file stands in their place."""
    with folder(root, AGENTS) as agents:
        _ensure(agents, name)
    with folder(root, AGENTS, name) as own:
        os.fchmod(own, FOLDER_MODE)
        for part in (OUTBOX, INBOX):
            _ensure(own, part)
        os.fsync(own)
    # Each of them is opened: one that cannot be made may be there, and be a link.
    with folder(root, AGENTS, name, OUTBOX) as outbox:
        _ensure(outbox, PENDING)
    for parts in ((OUTBOX, PENDING), (INBOX,)):
        with folder(root, AGENTS, name, *parts):
            pass


@contextlib.contextmanager
def folder(root: Path, *parts: str, make: bool = False) -> Iterator[int]:
    """A descriptor of the folder below the root; OSError where one of the parts is a link or no folder."""
    fd = os.open(root, _FOLDER & ~os.O_NOFOLLOW)
    try:
        for part in parts:
            try:
                inner = os.open(part, _FOLDER, dir_fd=fd)
            except FileNotFoundError:
                if not make:
                    raise
                _ensure(fd, part)
                os.fsync(fd)  # a file moved into a folder that a power cut takes away is nowhere
                inner = os.open(part, _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = inner
        yield fd
    finally:
        os.close(fd)


def look(name: str, fd: int) -> os.stat_result:
    """The stat of a name in a folder; a link stands for itself."""
    return os.stat(name, dir_fd=fd, follow_symlinks=False)


def is_there(name: str, fd: int) -> bool:
    """Is there anything under this name in a folder?"""
    try:
        look(name, fd)
    except FileNotFoundError:
        return False
    return True


def stat_of(status: os.stat_result) -> Stat:
    """The values that tell a file's states apart. A time that the ledger cannot hold is the last one that it can."""
    return Stat(status.st_size, max(-_LAST_NS, min(status.st_mtime_ns, _LAST_NS)), status.st_ino)


def identity(status: os.stat_result) -> Stat:
    """The values that tell a refused thing from the next one at its place. A folder's time is that of its content."""
    return Stat(0, 0, status.st_ino) if stat.S_ISDIR(status.st_mode) else stat_of(status)


def refusal(status: os.stat_result) -> str | None:
    """Why this is no file that may be opened; None if it is one."""
    if stat.S_ISLNK(status.st_mode):
        return "symlink"
    if not stat.S_ISREG(status.st_mode):
        return "not_regular"
    return "hard_link" if status.st_nlink > 1 else None


def read(name: str, fd: int, bytes_max: int) -> tuple[os.stat_result, bytes, os.stat_result]:
    """A file's stat, its bytes (those of one larger than bytes_max are not read), and its stat afterwards."""
    file = os.open(name, _FILE, dir_fd=fd)
    try:
        before = os.fstat(file)
        if refusal(before) is not None or before.st_size > bytes_max:
            return before, b"", before
        data = b""
        while chunk := os.read(file, min(bytes_max + 1 - len(data), CHUNK_BYTES)):
            data += chunk
        return before, data, os.fstat(file)
    finally:
        os.close(file)


def _ensure(fd: int, name: str) -> None:
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, FOLDER_MODE, dir_fd=fd)
