"""One orchestrator a folder: `.lock`.

The lock is the system's (flock), so it dies with its holder, whatever killed him. The file also says who holds it: an
orchestrator that knows only the file, and a person, can read it; and a live one of that kind is not overrun.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from pathlib import Path

from refbus.kernel import process
from refbus.kernel.errors import Locked, of_os_error
from refbus.kernel.files import FILE_MODE, write_all


class Lock:
    """Held from `take` to `release`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None

    def take(self) -> None:
        """Raise LOCKED if another orchestrator lives. A dead one's lock is taken over."""
        try:
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
        except OSError as error:
            raise of_os_error(error, definite=True) from error
        try:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Locked(f"another orchestrator holds {self._path}") from None
            if (pid := _living_holder(os.pread(fd, 4096, 0))) is not None:
                raise Locked(f"process {pid} holds {self._path}")
            os.ftruncate(fd, 0)
            os.lseek(fd, 0, os.SEEK_SET)
            write_all(fd, json.dumps(_ourselves()).encode())
        except OSError as error:
            os.close(fd)
            raise of_os_error(error, definite=True) from error
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd

    def release(self) -> None:
        """Let another one in. Idempotent."""
        fd, self._fd = self._fd, None
        if fd is not None:
            with contextlib.suppress(OSError):
                os.ftruncate(fd, 0)
            os.close(fd)


def _living_holder(content: bytes) -> int | None:
    """The process that the file names, if it lives, is another one, and knows only the file.

    A process that wrote as we do holds the system's lock. That lock is free, so it is dead, even if it can still be
    seen: a killed process loses its locks a moment before it is gone. A number alone is believed while it lives.
    """
    try:
        holder = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if isinstance(holder, dict) and "started_ticks" in holder:
        return None
    pid = holder.get("pid") if isinstance(holder, dict) else holder
    return pid if type(pid) is int and pid != os.getpid() and process.find(pid) is not None else None


def _ourselves() -> dict[str, int]:
    own = process.find(os.getpid())
    assert own is not None
    return {"pid": own.pid, "started_ticks": own.started}
