"""An orchestrator in a process of its own, which kills itself at a given step.

An audit hook of Python sees every call that touches a file, and every SQL statement: these are the steps. A server
without threads forks the process: a fork of a test's own process may wait for ever for a lock that a thread of it held.
"""

from __future__ import annotations

import functools
import itertools
import multiprocessing
import os
import signal
import sqlite3
import sys
from pathlib import Path
from typing import Any

from refbus.kernel.clock import Clock
from refbus.relay.bus import RelayBus

CLIS = {"sleep": ["/bin/sleep", "1000"]}
LIMIT_S = 60
_TOUCHES = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.chmod", "os.truncate", "subprocess.Popen"}
_WRITES = ("INSERT", "UPDATE", "DELETE", "BEGIN IMMEDIATE", "COMMIT")
_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload([__name__])


def run_and_die(root: Path, clock: Clock, point: int | None = None) -> bool:
    """Open, make a pass, end without a word. True: it was killed on its way."""
    process = _forks.Process(target=_pass, args=(root, clock.now_ms(), point))
    process.start()
    process.join(LIMIT_S)
    try:
        assert process.exitcode in (0, -signal.SIGKILL), process.exitcode
        return process.exitcode != 0
    finally:
        process.kill()
        process.join()
        process.close()


def _pass(root: Path, now_ms: int, point: int | None) -> None:
    if point is not None:
        _kill_at(point)
    bus = RelayBus(root, clock=Clock(now_ms), clis=CLIS, grace_ms=50)
    bus.scan()
    os._exit(0)


def _kill_at(point: int) -> None:
    """End this process, as SIGKILL does, at the n-th thing that it does to the disk from now on."""
    points = itertools.count(1)

    def touch() -> None:
        if next(points) == point:
            os.kill(os.getpid(), signal.SIGKILL)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _TOUCHES and not (event == "open" and _only_reads(arguments)):
            touch()

    class Traced(sqlite3.Connection):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self.set_trace_callback(lambda sql: touch() if sql.startswith(_WRITES) else None)

    sys.addaudithook(hook)
    sqlite3.connect = functools.partial(sqlite3.connect, factory=Traced)  # type: ignore[assignment]


def _only_reads(arguments: tuple[Any, ...]) -> bool:
    return isinstance(arguments[2], int) and not arguments[2] & (os.O_CREAT | os.O_WRONLY | os.O_RDWR)
