"""Images: the content of a folder, and how a tape changes it.

Every image of a run can be built from the folder as it was and the tape. That is also how we know that the tape is
whole: its replay must leave the same as the folder holds (`difference`).

`-shm` files are not in an image: SQLite maps them, derives them from the log, and makes them anew when nobody is left.
A named pipe or a socket is an empty file whose mode says so: nobody is at its other end.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from buschaos.bus import RunFailed
from buschaos.tape.step import Step

MODE = 0o600
FILE_BYTES_MAX = 256 << 20  # each point has a copy of all files, in memory; a file may be sparse, and its copy is not


def is_derived(path: str) -> bool:
    """A file that tells nothing by itself."""
    return path.endswith("-shm")


@dataclass(frozen=True)
class Image:
    """The files of a folder by their relative paths, its subfolders, its symbolic links."""

    files: dict[str, bytes]
    folders: frozenset[str] = frozenset()
    links: dict[str, str] = field(default_factory=dict)
    modes: dict[str, int] = field(default_factory=dict)  # the modes other than MODE
    times: dict[str, float] = field(default_factory=dict)  # when a file was changed, if that was before the tape

    def digest(self) -> bytes:
        """The same for the same content."""
        hasher = hashlib.blake2b(digest_size=16)
        for path in sorted(self.files):
            hasher.update(f"{path}\0".encode(errors="surrogateescape"))
            hasher.update(_digest(self.files[path]))
        hasher.update(repr((sorted(self.folders), sorted(self.links.items()))).encode())
        return hasher.digest()

    def put(self, folder: Path) -> None:
        """Make the folder hold this. The folder must not exist."""
        folder.mkdir()
        for name in sorted(self.folders):
            os.mkdir(folder / name)
        for name, target in self.links.items():
            os.symlink(target, folder / name)
        for name, data in self.files.items():
            path, mode = os.path.join(folder, name), self.modes.get(name, MODE)
            if stat.S_IFMT(mode):
                os.mknod(path, mode)
                continue
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
            try:
                os.write(fd, data)
            finally:
                os.close(fd)
            if name in self.times:
                os.utime(path, (self.times[name], self.times[name]))


@lru_cache(maxsize=256)  # images share most of their files
def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


class Tree(NamedTuple):
    """The names of a disk without its bytes: each path with the number of its file."""

    names: dict[str, int]
    folders: frozenset[str]
    links: dict[str, str]


def change(data: bytearray, step: Step) -> None:
    """Write to a file, or set its size."""
    if len(data) < step.offset:
        data.extend(bytes(step.offset - len(data)))
    if step.kind == "cut":
        del data[step.offset :]
    else:
        data[step.offset : step.offset + len(step.data)] = step.data


def of(folder: Path) -> Image:
    """The content of the folder now."""
    files, folders, links, modes, times = {}, set(), {}, {}, {}
    for here, below, names in os.walk(folder):
        for name in (*below, *names):
            path = os.path.join(here, name)
            relative = os.path.relpath(path, folder)
            if os.path.islink(path):
                links[relative] = os.readlink(path)
            elif name in below:
                folders.add(relative)
            elif not is_derived(relative) and (is_end(mode := os.lstat(path).st_mode) or stat.S_ISREG(mode)):
                files[relative] = b"" if is_end(mode) else Path(must_be_small(path)).read_bytes()
                times[relative] = os.lstat(path).st_mtime
                if (own := mode & 0o777 | is_end(mode) * stat.S_IFMT(mode)) != MODE:
                    modes[relative] = own
    return Image(files, frozenset(folders), links, modes, times)


def copy(folder: Path, to: Path, ignore: Callable[..., Any] | None = None) -> None:
    """Copy a store."""
    shutil.copytree(folder, to, symlinks=True, ignore=ignore, copy_function=_copy)


def _copy(source: str, to: str) -> None:
    mode = os.lstat(source).st_mode
    if is_end(mode):
        os.mknod(to, mode)
    else:
        shutil.copy2(must_be_small(source), to)


def is_end(mode: int) -> bool:
    """Is it a named pipe or a socket?"""
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def must_be_small(path: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """The path of a file that can be copied for each point. Raises RunFailed for another."""
    if (size := os.stat(path).st_size) > FILE_BYTES_MAX:
        name = f"a file of the store, {os.path.basename(path)}"
        raise RunFailed(f"{name}, has {size >> 20:,} MiB, and chaos copies files of {FILE_BYTES_MAX >> 20} MiB at most")
    return path


class Disk:
    """A folder in memory, to which steps are done. An impossible step (a name that is not there) does nothing."""

    def __init__(self, base: Image) -> None:
        self._base = base
        self._data: list[bytes | bytearray] = list(base.files.values())
        self.names = {path: number for number, path in enumerate(base.files)}
        self._folders, self._links = set(base.folders), dict(base.links)
        self._ends = {path for path, mode in base.modes.items() if stat.S_IFMT(mode)}

    def image(self) -> Image:
        """As it is now."""
        tree = self.tree()
        files = {path: bytes(self._data[number]) for path, number in tree.names.items()}
        times = {path: time for path, time in self._base.times.items() if files.get(path) == self._base.files[path]}
        return Image(files, tree.folders, tree.links, self._base.modes, times)

    def tree(self) -> Tree:
        """Its names. Those in a folder that did not reach the disk lead nowhere."""
        folders = frozenset(path for path in self._folders if self._leads_to(path))
        names = {p: number for p, number in self.names.items() if not is_derived(p) and self._leads_to(p)}
        return Tree(names, folders, {path: target for path, target in self._links.items() if self._leads_to(path)})

    def _leads_to(self, path: str) -> bool:
        """Are all the folders there in which it lies?"""
        return all(str(folder) in self._folders for folder in PurePosixPath(path).parents if folder.name)

    def play(self, steps: Iterable[Step]) -> Disk:
        """Do steps."""
        for step in steps:
            self._do(step)
        return self

    def _do(self, step: Step) -> None:
        match step.kind:
            case "write" | "cut" if step.path in self._ends:
                pass  # it went to whoever reads there
            case "write" | "cut" if step.path in self.names:
                self._change(self.names[step.path], step)
            case "create" if step.path not in self.names:
                self.names[step.path] = self.new_file()
            case "rename" if step.source in self.names:
                if self.names[step.source] == self.names.get(step.path):
                    return  # two names of one file: POSIX leaves both
                self.names[step.path] = self.names.pop(step.source)
            case "rename" if step.source in self._folders and not self._holds(step.path):
                self._move_folder(step.source, step.path)
            case "link" if step.source in self.names:
                self.names[step.path] = self.names[step.source]
            case "unlink":
                self.names.pop(step.path, None)
                self._links.pop(step.path, None)
            case "mkdir":
                self._folders.add(step.path)
            case "rmdir" if not self._holds(step.path):  # a program may try before it has emptied the folder
                self._folders.discard(step.path)
            case "symlink":
                self._links[step.path] = step.source
            case _:
                pass

    def new_file(self) -> int:
        """An empty one without a name; its number."""
        self._data.append(bytearray())
        return len(self._data) - 1

    def _change(self, number: int, step: Step) -> None:
        data = self._data[number]
        if isinstance(data, bytes):
            data = self._data[number] = bytearray(data)
        change(data, step)

    def _holds(self, folder: str) -> bool:
        """Is there anything in it?"""
        return any(path.startswith(folder + "/") for path in (*self.names, *self._folders, *self._links))

    def _move_folder(self, old: str, new: str) -> None:
        def moved(path: str) -> str:
            return new + path[len(old) :] if path == old or path.startswith(old + "/") else path

        self.names = {moved(path): number for path, number in self.names.items()}
        self._folders = {moved(path) for path in self._folders}
        self._links = {moved(path): target for path, target in self._links.items()}


def replay(base: Image, tape: Iterable[Step]) -> Image:
    """The image that the whole tape leaves."""
    return Disk(base).play(tape).image()


def difference(replayed: Image, real: Image) -> list[str]:
    """The paths at which a replay differs from the folder: their change was not seen."""
    paths = replayed.files.keys() | real.files.keys()
    differ = {path for path in paths if replayed.files.get(path) != real.files.get(path)}
    return sorted(differ | (replayed.folders ^ real.folders) | (replayed.links.keys() ^ real.links.keys()))
