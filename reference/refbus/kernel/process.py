"""Processes, as Linux tells of them in /proc: which live, since when, in which group, with which environment.

A pid is used again; together with its start, in ticks since the machine booted, it names one process. (Not with its
time of the day: that is computed, and moves when the clock is set.)
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple


class Process(NamedTuple):
    """A live process."""

    pid: int
    started: int  # ticks since boot
    group: int


def find(pid: int) -> Process | None:
    """The process of this number; None where there is none, or one that only waits to be collected."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except OSError:
        return None
    # The name in parentheses may hold anything, blanks and parentheses too.
    state, _parent, group, *rest = text[text.rindex(b")") + 2 :].split()
    return None if state in (b"Z", b"X") else Process(pid, int(rest[16]), int(group))


def living() -> Iterator[Process]:
    """All processes that can be seen."""
    for name in os.listdir("/proc"):
        if name.isdigit() and (process := find(int(name))) is not None:
            yield process


def variable(pid: int, name: str) -> str | None:
    """A variable of the environment that a process was started with; None where it has none or is somebody else's."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            text = file.read()
    except OSError:
        return None
    prefix = f"{name}=".encode()
    entry = next((item for item in text.split(b"\0") if item.startswith(prefix)), None)
    return None if entry is None else entry[len(prefix) :].decode("utf-8", "replace")
