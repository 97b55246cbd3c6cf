"""A bus's process: lines in and lines out, each with a deadline, and an end that leaves nothing running.

A stranger's program may stop reading, or leave a background process that holds its pipes for ever. So nothing here
blocks without a limit: pipes are read by a thread that can be told to stop, and written without blocking. The processes
that a bus starts carry the mark of its household in their environment, by which they are found wherever they went. If
they cleared it, they still have a limit that nobody else has.
"""

from __future__ import annotations

import array
import collections
import contextlib
import functools
import itertools
import os
import queue
import random
import select
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from busproof.bus.asleep import PROC, answering
from busproof.bus.base import HOW_LONG, DoorError, Lost
from busproof.bus.forked import Forked, is_forked

LINE_BYTES_MAX = 64 * 1024 * 1024
UNREAD_BYTES_MAX = 2 * LINE_BYTES_MAX
LINE_COSTS_BYTES = 128  # beside its content
GRACE_S = 2.0  # for a process to end by itself once its input has ended
SOON_S = 0.1  # most processes need less
SLICE_S = 1.0  # how long an ended process's last words may be on their way
MARK = "BUSPROOF_HOUSEHOLD"


# A bus that takes the local time for UTC is seen: it is tomorrow there. The second form needs no time zone database.
FAR_FROM_UTC = "Etc/GMT-14" if Path("/usr/share/zoneinfo/Etc/GMT-14").exists() else "AHEAD-14"


ZONES = (FAR_FROM_UTC, "UTC", "BEHIND+9")  # the last needs no data base, either
PARTICIPANT = "BUSPROOF_PARTICIPANT"  # which process of its household one is, from 0


@functools.cache
def _locales() -> list[str]:
    """Those that are installed, and hold any text."""
    try:
        output = subprocess.run(["locale", "-a"], capture_output=True, text=True, check=False, timeout=10).stdout
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [name for name in output.split() if name.lower().endswith((".utf8", ".utf-8"))]


def _language(number: int) -> dict[str, str]:
    """The first process speaks as the kit does; each other in its turn as something that is installed."""
    known = _locales()
    return {"LC_ALL": known[number % len(known)]} if number and known else {}


class Child:
    """One process in a session of its own, so that a kill reaches its children too.

    A process that does not lead stays in the caller's group, and dies with it.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        pass_fds: Sequence[int] = (),
        leads: bool = True,
    ) -> None:
        if not hasattr(select, "poll"):
            raise DoorError(f"a bus is started by POSIX means, which {sys.platform} does not have (WSL has them)")
        self._leads = leads
        environment = {**os.environ, "TZ": FAR_FROM_UTC, **(env or {})}
        self._process: subprocess.Popen[bytes] | Forked = (
            Forked(argv, cwd or os.getcwd(), environment)
            if is_forked(argv)
            else subprocess.Popen(
                argv,
                cwd=cwd,
                env=environment,
                start_new_session=leads,
                pass_fds=pass_fds,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        )
        assert self._process.stdin is not None
        self._stdin: IO[bytes] = self._process.stdin
        os.set_blocking(self._stdin.fileno(), False)
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._unread_bytes = 0
        self._counting = threading.Lock()
        self._words: collections.deque[str] = collections.deque(maxlen=50)
        self._stop_reading, self._told_to_stop = os.pipe()
        self._writing = threading.Lock()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """Its process id, which is its process group's too."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Is the process over?"""
        return self._process.poll() is not None

    @property
    def stderr(self) -> str:
        """The last 50 lines that it wrote to stderr."""
        return "\n".join(self._words)

    @property
    def stdout_inode(self) -> int:
        """The inode of the pipe on which it answers."""
        assert self._process.stdout is not None
        return os.fstat(self._process.stdout.fileno()).st_ino

    @property
    def unread_bytes(self) -> int:
        """The bytes written to it that it has not read yet."""
        import fcntl
        import termios

        left = array.array("i", [0])
        with contextlib.suppress(OSError, ValueError):  # its input has ended
            fcntl.ioctl(self._stdin.fileno(), termios.FIONREAD, left)
        return left[0]

    # -- lines

    def write_line(self, line: bytes, timeout_s: float = 30.0) -> None:
        """Write all of it, or Lost: the process is over, or does not read."""
        deadline = time.monotonic() + timeout_s
        left = memoryview(line + b"\n")
        with self._writing:
            while left:
                try:
                    left = left[os.write(self._stdin.fileno(), left) :]
                except BlockingIOError:
                    if not _is_writable(self._stdin.fileno(), deadline - time.monotonic()):
                        raise Lost(f"the bus stopped reading: a line was not taken in {timeout_s:g} s") from None
                except (OSError, ValueError) as error:
                    raise Lost(f"the bus does not read: {self.last_words()}") from error

    def read_line(self, waiting_for: str, timeout_s: float = 30.0) -> bytes:
        """The next line, or Lost: it did not come in time, or the process is over."""
        deadline = time.monotonic() + timeout_s
        while True:
            left_s = deadline - time.monotonic()
            was_over = self.has_ended
            try:
                line = self._lines.get(timeout=max(0.0, min(left_s, SLICE_S)))
                self._count(-len(line))
            except queue.Empty:
                if was_over:  # and another process holds its pipe, or this would be the end
                    line = b""
                elif left_s <= SLICE_S:
                    raise Lost(f"no answer to {waiting_for} in {timeout_s:.3g} s; {HOW_LONG}") from None
                else:
                    continue
            if not line.endswith(b"\n"):
                self._lines.put(b"")  # the end stays the end for the next caller
                if len(line) > LINE_BYTES_MAX:
                    raise Lost(f"the answer to {waiting_for} is longer than {LINE_BYTES_MAX >> 20} MiB")
                raise Lost(f"the bus ended before it answered {waiting_for}: {self.last_words()}")
            return line

    def last_words(self) -> str:
        """The words that it wrote for people, or else how it ended."""
        deadline = time.monotonic() + SLICE_S  # an end is sometimes seen before the words that came with it
        while not self._words and self._reader.is_alive() and time.monotonic() < deadline:
            self._reader.join(0.01)
        if not self._words:
            with contextlib.suppress(subprocess.TimeoutExpired):  # and the end of its pipes before its own
                self._process.wait(max(0.0, deadline - time.monotonic()))
        return self.stderr[-500:] or f"exit status {self._process.poll()}, nothing on stderr"

    def end_input(self) -> None:
        """Show the process the end of its stdin; its remaining output can be read."""
        with contextlib.suppress(OSError, ValueError):
            self._stdin.close()

    def hang_up(self) -> None:
        """The same, but no line is expected any more: a reader that waits is told so."""
        self.end_input()
        self._lines.put(b"")

    def processes(self) -> list[Path]:
        """The folders in /proc of it and of all that answer for it. A program that was forked for us answers itself."""
        return [PROC / str(self.pid)] if isinstance(self._process, Forked) else answering(self.pid, self.stdout_inode)

    # -- the end

    def kill(self) -> None:
        """SIGKILL to the whole process group. Idempotent."""
        if self._stop_reading < 0:
            return  # its number may be another's by now
        if not self._leads:
            kill_family(self.pid)
        else:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        self._reap()

    def close(self) -> None:
        """End of input, a grace, then kill. Idempotent."""
        self.end_input()
        # The end of its pipes is news at once; wait() looks again and again, ever more rarely.
        self._reader.join(SOON_S)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE_S)
        self.kill()

    def _reap(self) -> None:
        self._process.wait()
        self._reader.join(0.2)  # for the end of the pipes, unless somebody else holds them
        os.write(self._told_to_stop, b"x")
        self._reader.join()
        self.end_input()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()
        for end in (self._stop_reading, self._told_to_stop):
            os.close(end)
        self._stop_reading = -1

    def _take(self, line: bytes) -> None:
        self._count(len(line))
        self._lines.put(line)

    def _count(self, more: int) -> None:
        with self._counting:
            self._unread_bytes += more + (LINE_COSTS_BYTES if more > 0 else -LINE_COSTS_BYTES if more < 0 else 0)

    def _hear(self, words: bytes) -> None:
        if words:
            self._words.append(words.decode("utf-8", "replace").rstrip("\n"))

    def _read(self) -> None:
        """Pump both pipes until both have ended, or until the stop pipe says so."""
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        tell: dict[int, Callable[[bytes], None]] = {
            self._process.stdout.fileno(): self._take,
            self._process.stderr.fileno(): self._hear,
        }
        parts = {end: bytearray() for end in tell}
        poll = select.poll()
        for end in (*tell, self._stop_reading):
            poll.register(end, select.POLLIN)
        while len(tell) and self._stop_reading not in (ready := {end for end, _ in poll.poll()}):
            for end in ready:
                data = os.read(end, 1 << 16)
                _tell_lines(parts[end], data, tell[end])
                is_flood = end == self._process.stdout.fileno() and self._unread_bytes > UNREAD_BYTES_MAX
                if is_flood:
                    self._hear(b"(it wrote 128 MiB that nobody had asked for, and is not listened to any more)")
                if is_flood or not data:
                    poll.unregister(end)
                    tell.pop(end)(bytes(parts[end]))  # no whole line: the end, and the part before it
        self._lines.put(b"")


def _tell_lines(part: bytearray, data: bytes, tell: Callable[[bytes], None]) -> None:
    """Tell the lines that the data completes; one that is longer than any answer is told without its end."""
    first, *others = data.split(b"\n")
    part += first
    for other in others:
        tell(bytes(part) + b"\n")
        part[:] = other
    if len(part) > LINE_BYTES_MAX:
        tell(bytes(part))
        part.clear()


def _is_writable(end: int, wait_s: float) -> bool:
    poll = select.poll()
    poll.register(end, select.POLLOUT)
    return wait_s > 0 and bool(poll.poll(wait_s * 1000))


def kill_family(pid: int) -> None:
    """SIGKILL to a process and to all that it started, which share the caller's group."""
    with contextlib.suppress(OSError, ValueError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                kill_family(int(child))
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


class Household:
    """Starts processes, and ends those that they left behind. Doors are given one; it makes plain children.

    Agents of one machine need not share a time zone or a language, so neither do the processes of a household.
    """

    def __init__(self) -> None:
        self.mark = uuid.uuid4().hex
        self._count = itertools.count()
        self._limits = _own_limits()

    def spawn(self, argv: Sequence[str], env: Mapping[str, str] | None = None) -> Child:
        """A process that carries the mark, and whose children will."""
        number = next(self._count)
        own = {"TZ": ZONES[number % len(ZONES)], PARTICIPANT: str(number), **_language(number)}
        child = self._child(argv, {**own, **(env or {}), MARK: self.mark})
        if any(self._limits):
            with contextlib.suppress(OSError):  # it has ended
                _limits_of(child.pid, self._limits)
        return child

    def _child(self, argv: Sequence[str], env: Mapping[str, str]) -> Child:
        return Child(argv, env=env)

    def end(self) -> list[str]:
        """End all processes that still carry the mark, once every child is closed; returns their command lines."""
        ended: dict[Path, str] = {}
        deadline = time.monotonic() + GRACE_S  # a killed process may need a moment
        while (left := [path for path in Path("/proc").glob("[0-9]*") if self._is_ours(path)]) and (
            time.monotonic() < deadline
        ):
            for process in left:
                with contextlib.suppress(OSError):
                    words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
                    os.kill(int(process.name), signal.SIGKILL)
                    ended.setdefault(process, " ".join(words).strip())
        return list(filter(None, ended.values()))

    def _is_ours(self, process: Path) -> bool:
        """Does the process have the mark in its environment, or no mark, and the limit?"""
        if carries(process, f"{MARK}={self.mark}".encode()):
            return True
        with contextlib.suppress(OSError):
            is_limited = any(self._limits) and _limits_of(int(process.name)) == self._limits
            return is_limited and f"{MARK}=".encode() not in (process / "environ").read_bytes()
        return False


def _own_limits() -> tuple[int, int]:
    """Limits of message queues that no other household has, as processes leave them to their children.

    No bus needs the last fifth. One number would not do: thousands of households come and go beside others' processes,
    and a number of so few bits comes again. Zeros where there is no such limit.
    """
    try:
        hard = _limits_of(os.getpid())[1]
    except (ImportError, AttributeError):  # it is of Linux
        return 0, 0
    low, high = sorted(random.SystemRandom().sample(range(hard - hard // 5, hard), 2)) if hard > 100 else (0, 0)
    return low, high


def _limits_of(pid: int, limits: tuple[int, int] | None = None) -> tuple[int, int]:
    """Those of a process, which it gets if some are given."""
    import resource

    return resource.prlimit(pid, resource.RLIMIT_MSGQUEUE, *(() if limits is None else (limits,)))


def carries(process: Path, mark: bytes) -> bool:
    """Does the process have the mark in its environment?"""
    with contextlib.suppress(OSError):
        return mark in (process / "environ").read_bytes().split(b"\0")
    return False
