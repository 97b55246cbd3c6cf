"""Files: the one atomic write, a read of bounded size, and folders that are there to stay.

Files and folders made here are for their owner alone: messages are nobody else's. Existing ones keep their mode.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import stat
from pathlib import Path

from refbus.kernel.errors import BlobCorrupt, InvalidArgument, of_os_error

FILE_MODE, FOLDER_MODE = 0o600, 0o700


def atomic_write(path: Path, data: bytes) -> None:
    """Write the whole file or none of it, durably: temporary file, fsync, rename, fsync of the folder."""
    scratch = path.parent / f".tmp-{secrets.token_hex(8)}"
    renamed = False
    try:
        fd = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
        try:
            write_all(fd, data)
            os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(scratch, path)
        renamed = True
        sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(scratch)
        raise of_os_error(error, definite=not renamed) from error


def keep_entry(path: Path) -> None:
    """Make durable that a file is there: its writer may have died before it synced the folder."""
    try:
        sync_folder(path.parent)
    except OSError as error:
        raise of_os_error(error, definite=True) from error


def write_all(fd: int, data: bytes) -> None:
    """Write every byte; one write() may take only a part."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def read_whole(path: Path, bytes_max: int) -> bytes:
    """The content of a regular file that somebody may have put there: looked at before it is read.

    Raises BLOB_CORRUPT for a larger file, or for what is no file, and OSError, also where the last part is a link.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise BlobCorrupt(f"{path.name!a:.100} is no file")
        if status.st_size > bytes_max:
            raise BlobCorrupt(f"{path.name!a:.100} has {status.st_size} bytes, more than {bytes_max}")
        with os.fdopen(fd, "rb", closefd=False) as file:
            return file.read(bytes_max)
    finally:
        os.close(fd)


def existing_folder(name: str, value: Path | str) -> Path:
    """The argument `name` as an absolute path, if it is a folder that is there."""
    if not isinstance(value, str | Path) or not str(value) or "\0" in str(value):
        raise InvalidArgument(f"{name} must be the path of a folder")
    folder = Path(value)
    try:
        folder = folder.absolute()
        is_folder = folder.is_dir()
    except (OSError, ValueError):
        is_folder = False
    if not is_folder:
        raise InvalidArgument(f"{name} must be the path of a folder that exists: {str(value)!a:.200}")
    return folder


def make_folder(path: Path) -> None:
    """Make a folder whose entry survives a power loss, even if it is there: its maker may have died since."""
    try:
        is_there = path.is_dir()
        path.mkdir(FOLDER_MODE, exist_ok=True)
        # A process that may not read the parent has not made the folder that is there.
        with contextlib.suppress(PermissionError) if is_there else contextlib.nullcontext():
            sync_folder(path.parent)
    except OSError as error:
        raise of_os_error(error, definite=True) from error


def restore_folder(path: Path) -> None:
    """Make a folder again that somebody has tidied away since it was made."""
    if not path.is_dir():
        make_folder(path)


def make_path(folder: Path) -> None:
    """Make the folder, and those that are missing on the way to it."""
    missing = itertools.takewhile(lambda part: not part.is_dir(), folder.parents)
    for part in (*reversed(list(missing)), folder):
        make_folder(part)


def sync_folder(path: Path) -> None:
    """Make the folder's entries durable."""
    sync(path, os.O_DIRECTORY)


def sync(path: Path | str, more_flags: int = 0) -> None:
    """Make a file's content durable. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | more_flags)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
