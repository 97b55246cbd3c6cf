"""The processes that play the items of a run, side by side.

Each takes the next item that nobody has begun, and leaves its rows in OUT/parts. A process that dies takes the item
that it was playing with it, and no other: that item has no part, and its rows are told as not decided. Items that only
wait, for many seconds, have processes of their own: they cost nothing, and a run is not to end with one of them.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Sequence
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

from busproof.contract.catalogue import EXPLORE
from busproof.run import ended
from busproof.run.items import Run

_FORK = multiprocessing.get_context("fork")  # a process begins with our imports: they take a second


class Pool:
    """The processes of one run. Begin it while there is but one thread; leaving its context ends all of them."""

    def __init__(self, run: Run, jobs: int, *, are_waits_apart: bool) -> None:
        items = run.items()
        waits = [item for item in items if are_waits_apart and run.waits_long(item[1])]
        works = [item for item in items if item not in waits]
        if any(item.partition(":")[0] == EXPLORE for _, item in items):
            from busproof.play.explore import values  # noqa: F401  with it Hypothesis, once for all processes
        gc.freeze()  # or the collections of each process would copy every page
        self._processes: list[ForkProcess] = [
            _FORK.Process(target=_play, args=(run, played, begun))
            for played, begun in ((waits, _FORK.Value("i", 0)), (works, _FORK.Value("i", 0)))
            for _ in range(min(jobs, len(played)))
        ]
        for process in self._processes:
            process.start()

    def is_alive(self, within_s: float) -> bool:
        """Is any of them still at work, after at most so many seconds?"""
        wait([process.sentinel for process in self._processes if process.is_alive()], within_s)
        return any(process.is_alive() for process in self._processes)

    def end(self, *, within_s: float) -> None:
        """End what is still at work: asked first, and killed after so many seconds."""
        for process in self._processes:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
        until = time.monotonic() + within_s
        for process in self._processes:
            process.join(max(0.0, until - time.monotonic()))
            process.kill()
            process.join()


def _play(run: Run, items: Sequence[tuple[str, str]], begun: Any) -> None:
    """In a process of its own: its output, and that of a bus that is a module, goes to OUT/check.log."""
    ended.with_the_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the one that began us ends us
    _write_to(run.out / "check.log")
    with ended.by_sigterm(), contextlib.closing(run), contextlib.suppress(KeyboardInterrupt):
        while (number := _next(begun)) < len(items):
            run.play(*items[number])


def _next(begun: Any) -> int:
    with begun.get_lock():
        begun.value += 1
        return int(begun.value) - 1


def _write_to(path: Path) -> None:
    log = path.open("a", encoding="utf-8", errors="backslashreplace", buffering=1)
    for number in (1, 2):
        os.dup2(log.fileno(), number)
    sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = log  # type: ignore[misc]
