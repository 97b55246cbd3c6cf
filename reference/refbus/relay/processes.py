"""Processes of agents: started behind a gate, ended as a whole.

Everything that a spawn starts carries its token in the environment, wherever it goes: a child that left the process
group is found as well. A pid alone names nobody: it is compared with the start that the system tells.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil

from refbus.kernel.files import FILE_MODE
from refbus.relay import gate
from refbus.relay.failure import Failure

TOKEN = "AGENT_RELAY_TOKEN"
_LOOK_S = 0.02
_SAME_START_S = 0.02


class Running(NamedTuple):
    """A process, so that it cannot be mistaken."""

    pid: int
    started: float


class Started:
    """A program behind its gate: `go` lets it through."""

    def __init__(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], output: Path, ticket: Path) -> None:
        self._ticket = ticket
        ticket.touch(FILE_MODE)
        status, told = os.pipe()
        self._status = os.fdopen(status, "rb")
        try:
            output_fd = os.open(
                output, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE
            )
            try:
                self.process = subprocess.Popen(
                    [sys.executable, "-I", "-S", gate.__file__, str(ticket), str(told), *argv],
                    stdin=subprocess.PIPE,
                    stdout=output_fd,
                    stderr=output_fd,
                    cwd=cwd,
                    env=dict(env),
                    pass_fds=(told,),
                    start_new_session=True,
                )
            finally:
                os.close(output_fd)
        except BaseException:
            self._status.close()
            ticket.unlink(missing_ok=True)
            raise
        finally:
            os.close(told)
        self.running = Running(self.process.pid, psutil.Process(self.process.pid).create_time())

    def go(self) -> None:
        """Let it become the program. Raises spawn_failed where that cannot be run."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError), self.process.stdin:
            self.process.stdin.write(b"g")
        with self._status:
            error = self._status.read().decode("utf-8", "replace")
        if error or self._ticket.exists():
            self.process.wait()
            self._ticket.unlink(missing_ok=True)
            raise Failure("spawn_failed", error or "the gate ended")


class Processes:
    """Those that live, and their ends."""

    def __init__(self) -> None:
        self._children: dict[int, subprocess.Popen[bytes]] = {}

    def keep(self, started: Started) -> None:
        """It is a child of this process, which must be told of its end."""
        self._children[started.running.pid] = started.process

    def is_alive(self, running: Running) -> bool:
        """Does this very process still run?"""
        child = self._children.get(running.pid)
        if child is not None and child.poll() is not None:
            del self._children[running.pid]
            return False
        try:
            process = psutil.Process(running.pid)
            is_same = abs(process.create_time() - running.started) < _SAME_START_S
            return bool(is_same and process.status() != psutil.STATUS_ZOMBIE)
        except psutil.Error:
            return False

    def end(self, tokens: set[str], grace_ms: int) -> None:
        """SIGTERM to all that carry a token, and SIGKILL to what is left after the grace."""
        deadline = time.monotonic() + grace_ms / 1000
        living = members(tokens)
        ended = list(living)
        _signal(living, signal.SIGTERM)
        while living:
            time.sleep(_LOOK_S)
            self._collect()
            living = members(tokens)
            ended += living
            if time.monotonic() >= deadline:
                _signal(living, signal.SIGKILL)
        for process in ended:
            # One that is about to be gone carries no token any more, and yet must be collected.
            child = self._children.pop(process.pid, None)
            if child is not None:
                child.wait()

    def _collect(self) -> None:
        """Take note of children that have ended."""
        for pid in [pid for pid, child in self._children.items() if child.poll() is not None]:
            del self._children[pid]


def members(tokens: set[str]) -> list[psutil.Process]:
    """All processes that carry one of the tokens, but for those that only wait to be collected."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get(TOKEN) in tokens:
                found.append(process)
        except (psutil.Error, OSError):
            continue  # gone, a zombie, or somebody else's
    return found


def _signal(processes: list[psutil.Process], number: int) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.send_signal(number)
