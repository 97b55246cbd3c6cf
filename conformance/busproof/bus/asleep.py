"""Does a bus wait? The kernel says so, and a race needs no guess at how long a bus takes to reach a lock.

A process at a lock of SQLite sleeps, and wakes only to look again. One that has not come so far runs, or is ready to
run on a busy machine: that is another state, no matter how slow it all is. Where there is no /proc, time must do.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path

LOOKS, PAUSE_S = 5, 0.004
PROC = Path("/proc")
OURS = PROC / "self"
_AT_REST = {"S", "Z", "X"}  # asleep, or over


def answering(pid: int, stdout_inode: int) -> list[Path]:
    """The process, and all that hold the pipe on which it answers: the child of a wrapper, or of a warm process."""
    pipe = f"pipe:[{stdout_inode}]"
    return [PROC / name for name in os.listdir(PROC) if name.isdigit() and (name == str(pid) or _holds(name, pipe))]


def come_to_rest(processes: Sequence[Path], deadline: float, looks_min: int = LOOKS) -> None:
    """Return when all their threads, except the caller's own, sleep at so many looks in a row; or when time is up."""
    caller, looks = str(threading.get_native_id()), 0
    while looks < looks_min and time.monotonic() < deadline:
        time.sleep(PAUSE_S)
        threads = [thread for process in processes for thread in process.glob("task/*") if thread.name != caller]
        looks = looks + 1 if PROC.exists() and all(_state(thread) in _AT_REST for thread in threads) else 0


def _state(thread: Path) -> str:
    with contextlib.suppress(OSError):
        return (thread / "stat").read_text().rpartition(")")[2].split()[0]
    return "X"


def _holds(process: str, pipe: str) -> bool:
    """Plain texts: a race asks this of every process of the machine, and paths as objects take four times as long."""
    folder = f"{PROC}/{process}/fd"
    with contextlib.suppress(OSError):  # another user's, or over
        return any(os.readlink(f"{folder}/{end}") == pipe for end in os.listdir(folder))
    return False
