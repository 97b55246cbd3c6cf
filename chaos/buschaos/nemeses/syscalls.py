"""The system-call nemesis: every change that a bus makes to its store stops here and gets a verdict.

    Continue    let it happen
    Kill        SIGKILL before it happens
    Torn        only the first bytes reach the file, then SIGKILL: what a kill in the middle of a big write leaves
    Fail        it does not happen, and the program is told this errno
    Delay       let it happen later
    Hold        let it happen when somebody else says so

Calls are counted by one ordinal over the whole process tree, and only those under the watched folder count. They are
announced one at a time, so "before event 7" is exact: all that came earlier has been let go, nothing later has begun.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from buschaos import launch
from buschaos.nemeses import bpf
from buschaos.nemeses.notify import Gone, Listener, Stopped
from busproof.adapters.base import Door
from busproof.adapters.child import Child, Household

LAUNCH_LIMIT_S = 20.0
ANSWER = "the answer"


class Unavailable(RuntimeError):
    """This machine has no seccomp user notification for us."""


@dataclass(frozen=True)
class Continue:
    """Let it happen."""


@dataclass(frozen=True)
class Kill:
    """SIGKILL to the session before it happens."""


@dataclass(frozen=True)
class Torn:
    """Write the first `size` bytes, then SIGKILL."""

    size: int


@dataclass(frozen=True)
class Fail:
    """It does not happen; the program sees this errno."""

    errno: int


@dataclass(frozen=True)
class Delay:
    """Let it happen after a pause. The program's other calls wait, too."""

    seconds: float


@dataclass(frozen=True)
class Hold:
    """Let it happen once `released` is set."""

    released: threading.Event = field(default_factory=threading.Event)


Verdict = Continue | Kill | Torn | Fail | Delay | Hold


@dataclass(frozen=True)
class Change:
    """One change to the store, about to happen."""

    ordinal: int  # from 1, since the watch began
    call: str
    path: str  # below the watched folder, or ANSWER
    size: int | None  # bytes that a writing call means to write

    def __str__(self) -> str:
        return f"{self.ordinal}: {self.call} {self.path}" + ("" if self.size is None else f" ({self.size} bytes)")


Decide = Callable[[Change], Verdict]


@dataclass
class Watch:
    """What happened under one watched folder."""

    folder: str
    decide: Decide
    changes: list[Change] = field(default_factory=list)
    answers: str | None = None  # where the process answers, if that is to be judged, too
    struck: Change | None = None  # the last change that was not simply let happen
    is_killed: bool = False


class WatchedChild(Child):
    """A process whose changes to files can be watched and judged. Unwatched it runs as ever, a little slower."""

    def __init__(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None) -> None:
        machine = bpf.machine()
        if machine is None:
            raise Unavailable(f"no system-call table for {os.uname().machine}")
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                launcher = [sys.executable, "-I", "-S", launch.__file__, str(theirs.fileno()), "--"]
                super().__init__([*launcher, *argv], env=env, pass_fds=(theirs.fileno(),))
            try:
                listener = self._receive_listener(ours, bpf.program(machine))
            except Unavailable:
                self.kill()
                raise
        self._watch: Watch | None = None
        self._listener = Listener(listener, {number: name for name, number in machine.numbers.items()})
        self._judge = threading.Thread(target=self._judge_all, daemon=True)
        self._judge.start()

    @contextlib.contextmanager
    def watched(self, folder: Path, decide: Decide, *, answers: bool = False) -> Iterator[Watch]:
        """Judge every change under the folder, and every answer if asked, while the block runs; from ordinal 1."""
        pipe = f"pipe:[{self.stdout_inode}]" if answers else None
        self._watch = watch = Watch(os.path.realpath(folder), decide, answers=pipe)
        try:
            yield watch
        finally:
            self._watch = None

    def _reap(self) -> None:
        super()._reap()
        if hasattr(self, "_judge"):
            self._judge.join(2)

    def _receive_listener(self, ours: socket.socket, program: bytes) -> int:
        with contextlib.suppress(OSError):
            ours.send(program)
            ready, _, _ = select.select([ours], [], [], LAUNCH_LIMIT_S)
            if ready:
                _, fds, _, _ = socket.recv_fds(ours, 1, 1)
                if fds:
                    return fds[0]
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        raise Unavailable(f"the launcher gave no listener: {self.last_words()}")

    def _judge_all(self) -> None:
        try:
            while (call := self._listener.receive()) is not None:
                try:
                    self._judge_one(call)
                except (OSError, ValueError, Gone):  # the process died while it was being looked at
                    self._listener.let_go(call)
        finally:
            self._listener.close()

    def _judge_one(self, call: Stopped) -> None:
        watch = self._watch
        path = None if watch is None else _path_watched(call, watch)
        if watch is None or path is None or not self._listener.is_alive(call):
            self._listener.let_go(call)
            return
        change = Change(len(watch.changes) + 1, call.name, path, call.size())
        watch.changes.append(change)
        verdict = watch.decide(change)
        if not isinstance(verdict, Continue):
            watch.struck = change
        match verdict:
            case Fail(number):
                self._listener.fail(call, number)
            case Kill():
                self._kill_at(call, watch)
            case Torn(size):
                call.write(call.data(size))
                self._kill_at(call, watch)
            case Delay(seconds):
                time.sleep(seconds)
                self._listener.let_go(call)
            case Hold(released):
                released.wait()
                self._listener.let_go(call)
            case Continue():
                self._listener.let_go(call)

    def _kill_at(self, call: Stopped, watch: Watch) -> None:
        """The caller first, so that it is dead before anything else of its session can move."""
        watch.is_killed = True
        os.kill(call.process(), signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)


class Supervision(Household):
    """Starts every process under the supervisor."""

    def _child(self, argv: Sequence[str], env: Mapping[str, str]) -> Child:
        return WatchedChild(argv, env=env)


def watched_child(door: Door) -> WatchedChild:
    """The process behind a door that was given a Supervision."""
    child = getattr(door, "child", None)
    assert isinstance(child, WatchedChild)
    return child


def _path_watched(call: Stopped, watch: Watch) -> str | None:
    """The path that the call changes, relative to the watched folder; None where it lies elsewhere."""
    folder = watch.folder
    for path in _paths(call):
        if path == watch.answers:
            return ANSWER
        if path == folder or path.startswith(folder + "/"):
            return os.path.relpath(path, folder)
    return None


def _paths(call: Stopped) -> list[str]:
    """The paths that a call names: two for a rename, none that cannot be told."""
    args = call.args
    match call.name:
        case "rename" | "link":
            return [call.path(-100, args[1]), call.path(-100, args[0])]
        case "renameat" | "renameat2" | "linkat":
            return [call.path(args[2], args[3]), call.path(args[0], args[1])]
        case "symlink":
            return [call.path(-100, args[1])]
        case "symlinkat":
            return [call.path(args[1], args[2])]
        case "unlink" | "mkdir" | "rmdir" | "open" | "creat" | "truncate":
            return [call.path(-100, args[0])]
        case "unlinkat" | "mkdirat" | "openat" | "openat2":
            return [call.path(args[0], args[1])]
        case "copy_file_range":
            return [call.path_of(args[2])]
        case _:
            return [call.path_of(args[0])]


def why_unavailable() -> str | None:
    """None where the nemesis works, else the reason. Tries it, since a container may forbid it in many ways."""
    try:
        child = WatchedChild(["sh", "-c", "read line; : > /dev/null; echo $?"])
    except (Unavailable, OSError) as error:
        return str(error)
    try:
        seen: list[Change] = []
        with child.watched(Path("/dev"), lambda change: seen.append(change) or Continue()):  # type: ignore[func-returns-value]
            child.write_line(b"")
            answer = child.read_line("a redirection", 5)
        return None if seen and answer == b"0\n" else "stopped calls are not announced, or cannot be continued"
    except Exception as error:
        return str(error)
    finally:
        child.kill()
