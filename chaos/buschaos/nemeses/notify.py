"""Seccomp user notification: receive a stopped call, look at it, answer it. Mechanics only; no decision is made here.

A call is announced at its entry. Until it is answered its thread stands still, so its memory and its file
descriptors can be read in /proc. That needs no privilege for our own descendants.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import resource
import select
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass

_RECEIVE, _SEND, _IS_ALIVE, _SET_FLAGS = 0xC0502100, 0xC0182101, 0x40082102, 0x40082104
_CONTINUE = 1
_SYNC_WAKE_UP = 1
_NOTIFICATION = struct.Struct("QIIiIQ6Q")
_ANSWER = struct.Struct("QqiI")
_VECTORED = ("writev", "pwritev", "pwritev2")
AT_FDCWD = -100
_SETTLE_S = 0.05  # a thread that has not gone to sleep by then computes
_SHORT_LIMIT_S = 1.0  # a write that has not ended by then met an error of the real disk


class Gone(Exception):
    """The stopped thread does not exist any more."""


@dataclass(frozen=True)
class Stopped:
    """A system call at its entry."""

    id: int
    tid: int
    name: str
    number: int
    args: tuple[int, ...]

    def memory(self, address: int, size: int) -> bytes:
        """Bytes of the caller's memory."""
        fd = os.open(f"/proc/{self.tid}/mem", os.O_RDONLY)
        try:
            return os.pread(fd, size, address)
        finally:
            os.close(fd)

    def text(self, address: int) -> str:
        """A NUL-terminated string. Read page by page: the next one may not exist."""
        data = b""
        while b"\0" not in data:
            data += self.memory(address + len(data), 4096 - (address + len(data)) % 4096)
        return os.fsdecode(data.partition(b"\0")[0])

    def path(self, folder_fd: int, address: int) -> str:
        """An absolute path from a folder's descriptor and a string."""
        name = self.text(address)
        if name.startswith("/"):
            return _real(name.replace("/proc/self/", f"/proc/{self.tid}/", 1))
        folder_fd = ctypes.c_int(folder_fd & 0xFFFFFFFF).value
        folder = os.readlink(f"/proc/{self.tid}/cwd" if folder_fd == AT_FDCWD else f"/proc/{self.tid}/fd/{folder_fd}")
        return _real(os.path.join(folder, name))

    def path_of(self, fd: int) -> str:
        """The path that an open descriptor stands for."""
        return os.readlink(f"/proc/{self.tid}/fd/{fd & 0xFFFFFFFF}")

    def paths(self) -> list[str]:
        """The paths that the call names: two for a rename, the new one first; empty ones where it names none."""
        args = self.args
        match self.name:
            case "rename" | "link":
                return [self.path(AT_FDCWD, args[1]), self.path(AT_FDCWD, args[0])]
            case "renameat" | "renameat2" | "linkat":
                return [self.path(args[2], args[3]), self.path(args[0], args[1])]
            case "symlink":
                return [self.path(AT_FDCWD, args[1])]
            case "symlinkat":
                return [self.path(args[1], args[2])]
            case "unlink" | "mkdir" | "mknod" | "rmdir" | "open" | "creat" | "truncate":
                return [self.path(AT_FDCWD, args[0])]
            case "unlinkat" | "mkdirat" | "mknodat" | "openat" | "openat2":
                return [self.path(args[0], args[1])]
            case "copy_file_range" | "splice":
                return [self.path_of(args[2])]
            case "sync" | "kill":
                return []
            case _:
                return [self.path_of(args[0])]

    def process(self) -> int:
        """The process that the stopped thread belongs to."""
        with open(f"/proc/{self.tid}/status", encoding="ascii", errors="replace") as status:
            for line in status:
                if line.startswith("Tgid:"):
                    return int(line.split()[1])
        raise Gone

    def size(self) -> int | None:
        """How many bytes a writing call means to write; None for other calls."""
        if self.name in ("write", "pwrite64"):
            return self.args[2]
        if self.name in _VECTORED:
            return sum(length for _, length in self._vector())
        return None

    def data(self, size: int) -> bytes:
        """The first bytes that a writing call means to write."""
        if self.name not in _VECTORED:
            return self.memory(self.args[1], min(size, self.args[2]))
        pieces = b"".join(self.memory(address, length) for address, length in self._vector())
        return pieces[:size]

    def open_file(self, fd: int) -> tuple[int, int]:
        """The flags and the position of an open descriptor."""
        with open(f"/proc/{self.tid}/fdinfo/{fd & 0xFFFFFFFF}", encoding="ascii") as lines:
            info = dict(line.rstrip("\n").split(":\t", 1) for line in lines if ":\t" in line)
        return int(info["flags"], 8), int(info["pos"])

    def is_in(self, number: int) -> bool:
        """Is the thread still in this system call?"""
        try:
            with open(f"/proc/{self.tid}/syscall", encoding="ascii") as file:
                return file.read().split(" ", 1)[0] == str(number)
        except OSError:
            return False

    def others_sleep(self) -> bool:
        """Do all other threads of its process sleep? One that stands at a call of its own, not let go yet, does."""
        for task in os.listdir(f"/proc/{self.tid}/task"):
            with contextlib.suppress(FileNotFoundError), open(f"/proc/{self.tid}/task/{task}/stat", "rb") as stat:
                if int(task) != self.tid and stat.read().rpartition(b")")[2].split()[0] != b"S":
                    return False
        return True

    def _vector(self) -> list[tuple[int, int]]:
        packed = self.memory(self.args[1], 16 * self.args[2])
        return list(struct.iter_unpack("QQ", packed))

    def end(self, size: int) -> int:
        """The file's position after a writing call without a place of its own has written so much."""
        flags, position = self.open_file(self.args[0])
        if flags & os.O_APPEND:
            position = os.stat(f"/proc/{self.tid}/fd/{self.args[0] & 0xFFFFFFFF}").st_size
        return position + size

    def write(self, data: bytes) -> None:
        """Do the same to the file as a writing call with this data would have done.

        The file is opened anew through /proc: taking the descriptor itself (pidfd_getfd) is a privilege in Docker.
        """
        fd = self.args[0] & 0xFFFFFFFF
        flags, position = self.open_file(fd)
        appends = flags & os.O_APPEND
        copy = os.open(f"/proc/{self.tid}/fd/{fd}", os.O_WRONLY | appends)
        try:
            if appends:
                os.write(copy, data)
            else:
                os.pwrite(copy, data, self.args[3] if self.name.startswith("p") else position)
        finally:
            os.close(copy)


def _real(path: str) -> str:
    """The path without symbolic links, but for its last part, which the call itself names."""
    folder, name = os.path.split(os.path.normpath(path))
    return os.path.join(os.path.realpath(folder), name)


def _wait(is_so: Callable[[], bool], limit_s: float) -> None:
    """Wait until it is so, but no longer than the limit."""
    deadline = time.monotonic() + limit_s
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.0002)


class Listener:
    """The kernel's end of a filter. It ends when the last process under the filter has ended."""

    def __init__(self, fd: int, names: dict[int, str]) -> None:
        self._fd, self._names = fd, names
        self._has_one = False  # a call that was announced, and is not answered yet
        self._poll = select.poll()
        self._poll.register(fd, select.POLLIN | select.POLLHUP)
        with contextlib.suppress(OSError):
            fcntl.ioctl(fd, _SET_FLAGS, _SYNC_WAKE_UP)  # hand over on the same core; Linux 6.6

    def receive(self) -> Stopped | None:
        """The next stopped call; None when everybody is gone."""
        while True:
            self._has_one = False
            (_, ready), *_rest = self._poll.poll()
            if not ready & select.POLLIN:
                return None
            self._has_one = True  # before it is taken, so that at no moment nobody seems to stand here
            buffer = bytearray(_NOTIFICATION.size)
            try:
                fcntl.ioctl(self._fd, _RECEIVE, buffer)
            except OSError as error:
                if error.errno in (errno.ENOENT, errno.EINTR):  # killed between poll and receive
                    continue
                return None
            id_, tid, _flags, number, _arch, _at, *args = _NOTIFICATION.unpack(buffer)
            return Stopped(id_, tid, self._names[number], number, tuple(args))

    @property
    def is_idle(self) -> bool:
        """Is there no call that stands here or waits to be announced?"""
        poll = select.poll()  # one of its own: two threads must not share one
        poll.register(self._fd, select.POLLIN)
        return not poll.poll(0) and not self._has_one

    def is_alive(self, call: Stopped) -> bool:
        """Does the thread still stand there? If not, nothing read before counts (ids of the dead are reused)."""
        try:
            fcntl.ioctl(self._fd, _IS_ALIVE, struct.pack("Q", call.id))
        except OSError:
            return False
        return True

    def let_go(self, call: Stopped) -> None:
        """Let the call happen."""
        self._send(call, 0, 0, _CONTINUE)

    def fail(self, call: Stopped, number: int) -> None:
        """Do nothing and answer with an error."""
        self._send(call, 0, -number, 0)

    def shorten(self, call: Stopped, size: int) -> None:
        """Let a writing call take only its first bytes, and answer how many.

        Only the kernel can move the position of the caller's descriptor. So the kernel is made to write less: until the
        position has moved, no file of the process may become longer. Another thread's write that was let go ends first.
        """
        if call.name.startswith("p"):
            call.write(call.data(size))
            self.pretend(call, size)
            return
        _wait(call.others_sleep, _SETTLE_S)
        end = call.end(size)
        soft, hard = resource.prlimit(call.tid, resource.RLIMIT_FSIZE)
        resource.prlimit(call.tid, resource.RLIMIT_FSIZE, (end, hard))
        try:
            self.let_go(call)
            _wait(lambda: call.open_file(call.args[0])[1] == end, _SHORT_LIMIT_S)
        finally:
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(call.tid, resource.RLIMIT_FSIZE, (soft, hard))

    def pretend(self, call: Stopped, result: int) -> None:
        """Do nothing and answer with a result."""
        self._send(call, result, 0, 0)

    def close(self) -> None:
        """Calls that still stand are answered ENOSYS by the kernel."""
        os.close(self._fd)

    def _send(self, call: Stopped, result: int, error: int, flags: int) -> None:
        with contextlib.suppress(OSError):  # the thread may have been killed meanwhile
            fcntl.ioctl(self._fd, _SEND, _ANSWER.pack(call.id, result, error, flags))
