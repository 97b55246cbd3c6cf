"""An output folder has one run of a command at a time: two would overwrite, and judge, each other's files."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # not a POSIX system: nobody is refused there
    fcntl = None  # type: ignore[assignment]


class Taken(Exception):
    """Another run writes there. Its words are for the user; the exit code is 2."""


def take(file: IO[Any], *, waits: bool) -> None:
    """Lock an open file until it is closed. Raises BlockingIOError if another has it, unless the call waits."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))


@contextlib.contextmanager
def alone(folder: Path, name: str) -> Iterator[None]:
    """Inside, no other run has the lock of this name in this folder, which is made if need be.

    The kernel frees the lock of a process that died. The file of the lock stays: if one run removed the file, two
    later runs could each lock a file of that name.

    Raises:
        Taken: another run has the lock.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / f".{name}.lock", "a+", encoding="ascii") as file:
        try:
            take(file, waits=False)
        except BlockingIOError:
            file.seek(0)
            process = file.read().strip() or "unknown"
            raise Taken(
                f"another run (process {process}) has {file.name}: wait for its end, or give this run another --out"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        try:
            yield
        finally:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_UN)  # a forked child has this file open, too


def held(folder: Path, name: str) -> Callable[[], None]:
    """Take the lock now; returns what gives it back.

    Raises:
        Taken: another run has the lock.
    """
    stack = contextlib.ExitStack()
    stack.enter_context(alone(folder, name))
    return stack.close
