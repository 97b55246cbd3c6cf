"""Steps: the changes that a program told the disk, one system call each, with every byte. A tape is a list of them.

A step is read at the entry of its call, before it happens. If it cannot be read (a splice from a pipe), it is a `gap`:
the replay of the tape will then differ from the disk, and the run says so instead of judging it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from buschaos.nemeses.notify import Stopped

Kind = Literal[
    "write", "cut", "create", "link", "rename", "unlink", "mkdir", "rmdir", "symlink", "sync", "answer", "gap"
]
EVERYTHING = "*"  # the path of a sync of the whole file system
_NO_STEP = ("sync_file_range", "fcntl", "flock", "read", "pread64", "readv", "preadv", "munmap")
_RENAMES, _LINKS = ("rename", "renameat", "renameat2"), ("link", "linkat")
_MAKES: dict[str, Kind] = {"mknod": "create", "mkdir": "mkdir", "symlink": "symlink"}
_MAKES |= {f"{name}at": kind for name, kind in _MAKES.items()}
_KEEP_SIZE, _PUNCH_HOLE, _ZERO_RANGE = 1, 2, 16  # modes of fallocate
_REMOVE_FOLDER = 0x200  # AT_REMOVEDIR


@dataclass(frozen=True)
class Step:
    """One change; paths are relative to the watched folder.

    `offset`: where a write begins, the new size of a cut. `source`: the old name of a rename, the other name of a link,
    the target of a symbolic link. `is_synced`: the write is on the disk when it returns (O_SYNC).
    """

    kind: Kind
    path: str
    source: str = ""
    offset: int = 0
    data: bytes = b""
    is_synced: bool = False


def read(call: Stopped, path: str, folder: str) -> list[Step]:
    """The steps that a stopped call is about to take; none if it changes nothing. `path` lies below the folder."""
    return list(_read(call, path, folder))


def _read(call: Stopped, path: str, folder: str) -> Iterator[Step]:
    name, args = call.name, call.args
    size = call.size()
    if size is not None:
        flags, position = call.open_file(args[0])
        if flags & os.O_APPEND:
            offset = os.stat(f"/proc/{call.tid}/fd/{args[0] & 0xFFFFFFFF}").st_size
        else:
            offset = args[3] if name.startswith("p") else position
        is_synced = bool(flags & (os.O_SYNC | os.O_DSYNC))
        if size:  # writing nothing behind the end makes no file longer
            yield Step("write", path, offset=offset, data=call.data(size), is_synced=is_synced)
    elif name in ("fsync", "fdatasync"):
        yield Step("sync", path)
    elif name in ("sync", "syncfs"):
        yield Step("sync", EVERYTHING)
    elif name in ("open", "openat", "openat2", "creat"):
        yield from _open(call, path, os.path.join(folder, path))
    elif name in ("truncate", "ftruncate"):
        yield Step("cut", path, offset=args[1])
    elif name in _RENAMES or name in _LINKS:
        yield from _name(call, folder)
    elif name in ("unlink", "unlinkat"):
        yield Step("rmdir" if name == "unlinkat" and args[2] & _REMOVE_FOLDER else "unlink", path)
    elif name == "rmdir":
        yield Step("rmdir", path)
    elif name in _MAKES:
        if _is_room(os.path.join(folder, path)):
            yield Step(_MAKES[name], path, source=call.text(args[0]) if _MAKES[name] == "symlink" else "")
    elif name == "fallocate":
        size_now = os.stat(f"/proc/{call.tid}/fd/{args[0] & 0xFFFFFFFF}").st_size
        yield from _allocate(path, args[1], args[2], args[3], size_now)
    elif name in ("sendfile", "copy_file_range"):
        yield from _copy(call, path)
    elif name not in _NO_STEP:
        yield Step("gap", path)


def _is_room(path: str) -> bool:
    """Can a thing of this name be made? Programs try it where it is there already, and where its folder is not."""
    return not os.path.lexists(path) and os.path.isdir(os.path.dirname(path))


def _open(call: Stopped, path: str, real: str) -> Iterator[Step]:
    if call.name == "openat2":
        flags = int.from_bytes(call.memory(call.args[2], 8), "little")
    else:
        flags = {"open": call.args[1], "openat": call.args[2]}.get(call.name, os.O_CREAT | os.O_TRUNC)
    if not os.path.lexists(real):
        if flags & os.O_CREAT:
            yield Step("create", path)
    elif flags & os.O_TRUNC and not (flags & os.O_CREAT and flags & os.O_EXCL):
        yield Step("cut", path, offset=0)


def _name(call: Stopped, folder: str) -> Iterator[Step]:
    """A rename or a link; a file from outside comes with its bytes, a file that goes outside is gone."""
    new, old = (os.path.relpath(path, folder) for path in call.paths())
    kind: Kind = "rename" if call.name in _RENAMES else "link"
    if new.startswith(".."):
        if kind == "rename":
            yield Step("unlink", old)
    elif old.startswith(".."):
        with open(os.path.join(folder, old), "rb") as file:
            yield Step("create", new)
            yield Step("write", new, data=file.read())
    elif os.path.lexists(os.path.join(folder, old)):
        yield Step(kind, new, source=old)


def _allocate(path: str, mode: int, offset: int, length: int, size: int) -> Iterator[Step]:
    if mode & (_PUNCH_HOLE | _ZERO_RANGE):
        end = min(offset + length, size) if mode & _KEEP_SIZE else offset + length
        yield Step("write", path, offset=offset, data=bytes(max(0, end - offset)))
    elif not mode & _KEEP_SIZE and offset + length > size:
        yield Step("cut", path, offset=offset + length)


def _copy(call: Stopped, path: str) -> Iterator[Step]:
    """A copy from one file to another without the program's memory."""
    args = call.args
    if call.name == "sendfile":
        (target, source, at_source), at_target, count = args[:3], 0, args[3]
    else:
        source, at_source, target, at_target, count = args[:5]

    def place(fd: int, pointer: int) -> int:
        return int.from_bytes(call.memory(pointer, 8), "little") if pointer else call.open_file(fd)[1]

    with open(f"/proc/{call.tid}/fd/{source & 0xFFFFFFFF}", "rb") as file:
        file.seek(place(source, at_source))
        yield Step("write", path, offset=place(target, at_target), data=file.read(count))
