"""The system-call nemesis: every change that a bus makes to its store stops here and gets a verdict.

    Continue    let it happen
    Kill        SIGKILL before it happens
    Torn        only the first bytes reach the file, then SIGKILL, as after a kill in the middle of a big write
    Fail        it does not happen, and the program gets this errno
    Short       only the first bytes reach the file, and the program is told how many
    Delay       let it happen later
    Hold        let it happen when somebody else says so
    Others      let it happen when others have worked on the files

Calls are counted by one ordinal over the whole process tree, and only those under the watched folder count. They are
announced one at a time, so "before event 7" is exact: all that came earlier has happened, nothing later has begun.

A watch can record the calls that it sees as a tape (`tape.step`), and always counts those that it could not read.
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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from buschaos import launch
from buschaos.nemeses import bpf
from buschaos.nemeses.notify import Gone, Listener, Stopped
from buschaos.tape import step
from buschaos.tape.image import is_derived
from buschaos.tape.step import Step
from busproof.bus.base import Door
from busproof.bus.child import MARK, Child, Household, carries

LAUNCH_LIMIT_S = 20.0
SETTLE_S = 0.05  # a call that blocks for longer than this (a lock) will not change the file before it is let in
ANSWER = "the answer"
PIPE = "a pipe"  # to a process that the bus was asked to start: it acts on what it is told


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
class Short:
    """Write the first `size` bytes, and say so: a success, but not of the whole."""

    size: int


@dataclass(frozen=True)
class Delay:
    """Let it happen after a pause. The program's other calls wait, too."""

    seconds: float


@dataclass(frozen=True)
class Hold:
    """Let it happen once `released` is set."""

    released: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class Others:
    """Let it happen when others have done `work` on the files."""

    work: Callable[[], object] = lambda: None


@dataclass(frozen=True)
class End:
    """Let it happen when the session was asked to end: by a signal, or by the end of its input (None)."""

    signal: signal.Signals | None


Verdict = Continue | Kill | Torn | Fail | Short | Delay | Hold | Others | End


@dataclass(frozen=True)
class Change:
    """One change to the store, about to happen."""

    ordinal: int  # from 1, since the watch began
    call: str
    path: str  # below the watched folder, or ANSWER
    size: int | None  # bytes that a writing call means to write
    steps: tuple[Step, ...] = field(default=(), compare=False, repr=False)  # where the watch records

    def __str__(self) -> str:
        return f"{self.ordinal}: {self.call} {self.path}" + ("" if self.size is None else f" ({self.size} bytes)")


Decide = Callable[[Change], Verdict]


@dataclass
class Watch:
    """The events under one watched folder."""

    folder: str
    decide: Decide
    changes: list[Change] = field(default_factory=list)
    answers: str | None = None  # where the process answers, if that is to be judged, too
    records: bool = False
    struck: Change | None = None  # the last change that was not simply let happen
    is_killed: bool = False
    unread: int = 0  # calls that were let go because they could not be looked at
    processes: set[int] = field(default_factory=set)  # that made calls here

    @property
    def tape(self) -> list[Step]:
        """All steps in order."""
        return [step for change in self.changes for step in change.steps]


class WatchedChild(Child):
    """A process whose changes to files can be watched and judged. Unwatched it runs as ever, a little slower."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        also: Iterable[str] = (),
        spares: str | None = None,
    ) -> None:
        machine = bpf.machine()
        if machine is None:
            raise Unavailable(f"no system-call table for {os.uname().machine}")
        self._read_number = machine.numbers["read"]
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                launcher = [sys.executable, "-I", "-S", launch.__file__, str(theirs.fileno()), "--"]
                super().__init__([*launcher, *argv], env=env, pass_fds=(theirs.fileno(),))
            try:
                listener = self._receive_listener(ours, bpf.program(machine, also))
            except Unavailable:
                self.kill()
                raise
        self._mark = f"{MARK}={(env or os.environ).get(MARK)}".encode()
        self._spares = None if spares is None else f"{spares}=".encode()
        self._watch: Watch | None = None
        self._last: Stopped | None = None  # the last call that was let go
        self._listener = Listener(listener, {number: name for name, number in machine.numbers.items()})
        self._judge = threading.Thread(target=self._judge_all, daemon=True)
        self._judge.start()

    @contextlib.contextmanager
    def watched(self, folder: Path, decide: Decide, *, answers: bool = False, records: bool = False) -> Iterator[Watch]:
        """Judge every change under the folder, and every answer if asked, while the block runs; from ordinal 1."""
        pipe = f"pipe:[{self.stdout_inode}]" if answers else None
        self._watch = watch = Watch(os.path.realpath(folder), decide, answers=pipe, records=records)
        try:
            yield watch
        finally:
            self._watch = None

    def ask(self, end: End) -> None:
        """Ask the session to end."""
        if end.signal is None:
            self.end_input()
        else:
            os.kill(self.pid, end.signal)

    def sleeps_in(self) -> set[int] | None:
        """The calls in which all threads of all its processes sleep; None while one works, or stands before us.

        None, too, if all wait for a request: on a machine with much to do that may be on its way to them for long.
        """
        calls: set[int] = set()
        are_idle = True
        try:
            if not self._listener.is_idle:
                return None
            for task in _tasks(self.pid):
                state = (task / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0]
                if state == "Z":  # it has ended, and nobody asked for its status
                    continue
                if state != "S":
                    return None
                number, first, *_ = (task / "syscall").read_text("ascii").split()
                calls.add(int(number))
                are_idle = are_idle and (int(number), int(first, 16)) == (self._read_number, 0)
        except (OSError, ValueError):  # one ended, or works
            return None
        return calls if self._listener.is_idle and not are_idle else None

    def _reap(self) -> None:
        super()._reap()
        if hasattr(self, "_judge"):
            # A process that was spared lives on, and its calls are let go as long as it does.
            self._judge.join(2 if self._spares is None else 0.1)

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
                except (OSError, ValueError, Gone):  # most died while they were being looked at
                    if self._watch is not None and self._listener.is_alive(call):
                        self._watch.unread += 1
                    self._listener.let_go(call)
        finally:
            self._listener.close()

    def _judge_one(self, call: Stopped) -> None:
        watch = self._watch
        path = None if watch is None else _path_watched(call, watch)
        if watch is not None and path is None and self._spares is not None and _tells_a_program(call):
            path = PIPE
        if watch is None or path is None or not self._listener.is_alive(call):
            self._listener.let_go(call)
            return
        self._await_last(call)
        size, steps = (None, ()) if path == PIPE else (call.size(), _steps(call, path, watch))
        change = Change(len(watch.changes) + 1, call.name, path, size, steps)
        watch.changes.append(change)
        watch.processes.add(call.process())
        verdict = watch.decide(change)
        if not isinstance(verdict, Continue):
            watch.struck = change
        match verdict:
            case Fail(number):
                self._listener.fail(call, number)
            case Short(size):
                self._listener.shorten(call, size)
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
            case Others(work):
                work()
                self._listener.let_go(call)
            case End():
                self.ask(verdict)
                self._listener.let_go(call)
            case Continue():
                self._listener.let_go(call)

    def _await_last(self, call: Stopped) -> None:
        """Another thread's call that was let go may still be under way: "before" is only said when it is over."""
        last, self._last = self._last, call
        if last is None or last.tid == call.tid:
            return
        deadline = time.monotonic() + SETTLE_S
        while last.is_in(last.number) and time.monotonic() < deadline:
            time.sleep(0.0002)

    def _kill_at(self, call: Stopped, watch: Watch) -> None:
        """Kill the caller first, so that it is dead before the rest of its session can move; then those who left it."""
        watch.is_killed = True
        if self._is_spared(caller := call.process()):
            self._listener.let_go(call)
        else:
            os.kill(caller, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        for process in watch.processes:
            if carries(Path(f"/proc/{process}"), self._mark) and not self._is_spared(process):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(process, signal.SIGKILL)

    def _is_spared(self, process: int) -> bool:
        """Is it no part of the bus: in a session of its own, and named as one that the bus was asked to start?"""
        if self._spares is None:
            return False
        with contextlib.suppress(OSError):
            variables = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
            return os.getpgid(process) != self.pid and any(text.startswith(self._spares) for text in variables)
        return False

    def mapped(self, folder: Path) -> list[str]:
        """Files under the folder that a process here has mapped to write: a store into them is no call."""
        paths: set[str] = set()
        root = os.path.realpath(folder) + "/"
        for process in {self.pid, *(self._watch.processes if self._watch else ())}:
            with (
                contextlib.suppress(OSError),
                open(f"/proc/{process}/maps", encoding="utf-8", errors="replace") as maps,
            ):
                for line in maps:
                    path = line.partition("/")[2]
                    if " rw-s " in line and f"/{path}".startswith(root):
                        paths.add(os.path.relpath(f"/{path.rstrip()}", root))
        return sorted(path for path in paths if not is_derived(path))


def _tasks(pid: int) -> Iterator[Path]:
    """All threads of a process and of its children."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        yield task
        for child in (task / "children").read_text("ascii").split():
            yield from _tasks(int(child))


def _steps(call: Stopped, path: str, watch: Watch) -> tuple[Step, ...]:
    if not watch.records:
        return ()
    if path == ANSWER:
        return (Step("answer", ANSWER, data=call.data(call.size() or 0)),)
    return tuple(step.read(call, path, watch.folder))


class Supervision(Household):
    """Starts every process under the supervisor; `also` names the calls that stop although they change nothing.

    A process that carries the variable `spares` outlives a kill: it is of another kind, and the bus was asked to start
    it.
    """

    def __init__(self, also: Iterable[str] = (), spares: str | None = None) -> None:
        super().__init__()
        self._also, self._spares = tuple(also), spares

    def _child(self, argv: Sequence[str], env: Mapping[str, str]) -> Child:
        return WatchedChild(argv, env=env, also=self._also, spares=self._spares)


def watched_child(door: Door) -> WatchedChild:
    """The process behind a door that was given a Supervision."""
    child = getattr(door, "child", None)
    assert isinstance(child, WatchedChild)
    return child


def _path_watched(call: Stopped, watch: Watch) -> str | None:
    """The path that the call changes, relative to the watched folder; None where it lies elsewhere."""
    folder = watch.folder
    if call.name in ("sync", *bpf.UNMAPS, *bpf.SIGNALS):  # of no file, or of one that only the program knows
        return "."
    for path in call.paths():
        if path == watch.answers:
            return ANSWER
        if path == folder or path.startswith(folder + "/"):
            return os.path.relpath(path, folder)
    return None


def _tells_a_program(call: Stopped) -> bool:
    """Is it a write to a pipe other than stderr?"""
    if call.name not in ("write", "writev") or not (path := call.path_of(call.args[0])).startswith("pipe:"):
        return False
    return path != os.readlink(f"/proc/{call.tid}/fd/2")


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
