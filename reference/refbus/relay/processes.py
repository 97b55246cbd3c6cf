"""Processes of agents: started behind a gate, ended as a whole.

Everything that a spawn starts carries its token in the environment, wherever it goes: a child that left the process
group is found as well. A pid alone names nobody: it goes with the start that the system tells.
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

from refbus.kernel import process
from refbus.kernel.files import FILE_MODE
from refbus.relay import gate, tree
from refbus.relay.failure import Failure

TOKEN = "AGENT_RELAY_TOKEN"
_LOOK_S = 0.02


class Target(NamedTuple):
    """The identity of a process that was started here. `started` is in ticks since boot."""

    pid: int
    started: int
    token: str


class Started:
    """A program behind its gate: `go` lets it through."""

    def __init__(
        self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], token: str, output: Path, ticket: Path
    ) -> None:
        self._ticket = ticket
        ticket.touch(FILE_MODE)
        status, write_end = os.pipe()
        self._status = os.fdopen(status, "rb")
        try:
            # Without O_NONBLOCK, a fifo in its place would hold the orchestrator for ever.
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
            output_fd = os.open(output, flags, FILE_MODE)
            try:
                if (odd := tree.refusal(os.fstat(output_fd))) is not None:
                    raise OSError(f"{output} is none of its own: {odd}")
                os.set_blocking(output_fd, True)
                self.process = subprocess.Popen(
                    [sys.executable, "-I", "-S", gate.__file__, str(ticket), str(write_end), *argv],
                    stdin=subprocess.PIPE,
                    stdout=output_fd,
                    stderr=output_fd,
                    cwd=cwd,
                    env={**env, TOKEN: token},
                    pass_fds=(write_end,),
                    start_new_session=True,
                )
            finally:
                os.close(output_fd)
        except BaseException:
            self._status.close()
            ticket.unlink(missing_ok=True)
            raise
        finally:
            os.close(write_end)
        leader = process.find(self.process.pid)
        self.target = Target(self.process.pid, 0 if leader is None else leader.started, token)

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
    """The processes that live, and their ends."""

    def __init__(self) -> None:
        self._children: dict[int, subprocess.Popen[bytes]] = {}

    def keep(self, started: Started) -> None:
        """The agent is a child of this process, which must be told of its end."""
        self._children[started.target.pid] = started.process

    def is_alive(self, target: Target) -> bool:
        """Does this very process still run?"""
        self._collect()
        return _is_same(target)

    def end(self, targets: list[Target], grace_ms: int) -> None:
        """SIGTERM to all that was started by them, and SIGKILL to those that are left after the grace.

        A process that has become another user's (sudo, su) takes no signal of ours, and is not waited for.
        """
        deadline = time.monotonic() + grace_ms / 1000
        left = members(targets)
        foreign = _signal(left, signal.SIGTERM)
        while left := [pid for pid in left if pid not in foreign]:
            time.sleep(_LOOK_S)
            self._collect()
            left = members(targets)
            if time.monotonic() >= deadline:
                foreign |= _signal(left, signal.SIGKILL)
        for target in targets:
            child = self._children.pop(target.pid, None)
            if child is not None and target.pid not in foreign:
                child.wait()

    def _collect(self) -> None:
        """Take note of children that have ended."""
        for pid in [pid for pid, child in self._children.items() if child.poll() is not None]:
            del self._children[pid]


def members(targets: list[Target]) -> list[int]:
    """All processes that the targets started: by the token, wherever they went, and by their groups."""
    tokens = {target.token for target in targets}
    # A group outlives its leader, and its number is not used again before the group is empty.
    groups = {target.pid for target in targets if target.pid and (process.find(target.pid) is None or _is_same(target))}
    return [
        alive.pid
        for alive in process.living()
        if alive.pid != os.getpid() and (alive.group in groups or process.variable(alive.pid, TOKEN) in tokens)
    ]


def _is_same(target: Target) -> bool:
    running = process.find(target.pid)
    return running is not None and running.started == target.started


def _signal(pids: list[int], number: int) -> set[int]:
    """Send the signal; return those that take none from this user."""
    foreign = set()
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass
        except PermissionError:
            foreign.add(pid)
    return foreign
