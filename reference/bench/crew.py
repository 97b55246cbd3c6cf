"""Processes of a bench: started warm, watched for progress, never left behind.

A fork server that has imported all that they need starts a process in some 10 ms, and from a parent without threads.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import multiprocess

STALLED_S = 60.0
JOIN_LIMIT_S = 30.0

context = multiprocess.get_context("forkserver")
# The fork server leaves out modules that cannot be imported here.
context.set_forkserver_preload(["refbus.comms.bus", "refbus.timeline.bus", "refbus.timeline.jetstream"])


def is_wanted() -> bool:
    """Is the bench alive that started this process? If it was killed, nobody else ends its processes."""
    parent = multiprocess.parent_process()
    return parent is not None and parent.is_alive()


class Stalled(Exception):
    """Nothing moved for so long that nothing will."""


class Crew:
    """The processes that are at work; each was started here and is ended here, by its own handle."""

    def __init__(self) -> None:
        self.processes: list[Any] = []
        self.died: list[int] = []  # exit codes of those that failed by themselves

    def start(self, target: Callable[..., None], *args: Any) -> None:
        """Start one more."""
        process = context.Process(target=target, args=args, daemon=True)
        process.start()
        self.processes.append(process)

    def check(self) -> None:
        """Raise where one has ended in an error."""
        self.died += [process.exitcode for process in self.processes if process.exitcode]
        if self.died:
            raise Stalled(f"a process ended by itself with {self.died}")

    def join(self) -> None:
        """Wait for all; a process that does not end is a fault."""
        for process in self.processes:
            process.join(JOIN_LIMIT_S)
            if process.exitcode is None:
                raise Stalled(f"a process has not ended in {JOIN_LIMIT_S:g} s")
        self.check()


@contextlib.contextmanager
def crew() -> Iterator[Crew]:
    """None of them outlives the block."""
    members = Crew()
    try:
        yield members
    finally:
        for process in members.processes:
            if process.exitcode is None:
                process.kill()
        for process in members.processes:
            process.join(JOIN_LIMIT_S)


class Watch:
    """Tells the progress, and when there is none."""

    def __init__(self, what: str, total: int) -> None:
        self.what, self.total = what, total
        self._last, self._moved_at = -1, time.monotonic()

    def see(self, count: int) -> None:
        """Raise where the count has not moved for a minute."""
        if count != self._last:
            self._last, self._moved_at = count, time.monotonic()
        elif time.monotonic() - self._moved_at > STALLED_S:
            raise Stalled(f"{self.what}: {count} of {self.total}, and no progress in {STALLED_S:g} s")
        self._show(f"{self.what}: {count} of {self.total} ")

    def close(self) -> None:
        """Clear the line."""
        self._show(" " * 60 + "\r")

    def _show(self, text: str) -> None:
        if sys.stderr.isatty():
            print(f"\r{text}", end="", file=sys.stderr, flush=True)
