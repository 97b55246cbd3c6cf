"""A warm process, which has the imports and forks: a Python program starts in a hundredth of the time.

    with Warm(["refbus.driver"]) as warm:
        spec = warm.spec(f"exec:{sys.executable} mutant.py")

Such a spec starts a small program, handover.py. It hands its stdin, stdout
and stderr to the warm process, which forks a child that runs PROGRAM on them in a session of its own. The small program
ends as the child ends, and the child is killed when the small program is: to a door it is the program itself.

Only for programs of ours, which do nothing of note when they are imported: a bus of a user is started as the user says.
Only on Linux: elsewhere no descriptor tells the end of a process, and each program is started as it is.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import os
import runpy
import selectors
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from importlib.abc import SourceLoader
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Self

from busproof.bus.forked import COMMAND
from busproof.bus.handover import LENGTH_BYTES, STREAMS


def is_warm(spec: str) -> bool:
    """Is it a spec that a warm process gave? It means nothing after that process."""
    return COMMAND[-1] in spec


def started_by(path: str, spec: str) -> str:
    """The same bus, started by the warm process at this path, if it is a program of this Python; else as it is."""
    scheme, _, command = spec.partition(":")
    argv = shlex.split(command)
    if not argv or argv[0] != sys.executable or not _IS_POSSIBLE:
        return spec
    return f"{scheme}:{shlex.join([*COMMAND, path, *argv[1:]])}"


_IS_POSSIBLE = hasattr(os, "pidfd_open")
_FOLDER_BYTES_MAX = 75  # of a path: the path of a socket in a folder there has 107 at most


class Warm:
    """The owner's side: starts the warm process and ends it, and with it all that it forked."""

    def __init__(self, modules: Sequence[str]) -> None:
        is_short = len(os.fsencode(tempfile.gettempdir())) <= _FOLDER_BYTES_MAX
        self._folder = tempfile.TemporaryDirectory(prefix="busproof-warm-", dir=None if is_short else "/tmp")
        self.path = str(Path(self._folder.name) / "socket")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "busproof.bus.warm", self.path, *modules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            self.close()
            raise RuntimeError(f"no warm process with {', '.join(modules)}")

    def spec(self, spec: str) -> str:
        """The same bus, started warm, if it is a program of this Python; else the spec as it is."""
        return started_by(self.path, spec)

    def close(self) -> None:
        """The end of its stdin ends it."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait()
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Server:
    """One thread: callers come, children end, callers go."""

    def __init__(self, path: str) -> None:
        self._selector = selectors.DefaultSelector()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen(64)
        self._children: dict[socket.socket, tuple[int, int]] = {}  # a caller's line → pid, its pidfd
        self._watch(self._listener, self._accept)
        self._watch(sys.stdin, self._end)

    def next_program(self) -> list[str]:
        """Returns in each child, on the caller's streams: the program to run."""
        while True:
            for key, _ in self._selector.select()[:1]:  # it may end the source of the next, which is asked for again
                react: Callable[[], list[str] | None] = key.data
                if (program := react()) is not None:
                    return program

    def _watch(self, source: object, react: Callable[[], list[str] | None]) -> None:
        self._selector.register(source, selectors.EVENT_READ, react)  # type: ignore[arg-type]

    def _accept(self) -> list[str] | None:
        line, _ = self._listener.accept()
        head, streams, _, _ = socket.recv_fds(line, LENGTH_BYTES, STREAMS)
        request = b""
        while len(streams) == STREAMS and len(request) < int.from_bytes(head, "big"):
            chunk = line.recv(65536)
            if not chunk:
                break
            request += chunk
        pid = os.fork() if request else 0
        if request and pid == 0:
            os.setsid()
            with contextlib.suppress(OSError):  # a caller that is gone
                line.sendall(os.getpid().to_bytes(LENGTH_BYTES, "big"))  # from here on a kill of its group finds it
            self._let_go(line)
            return _take_over(streams, os.fsdecode(request).split("\0"))
        for fd in streams:
            os.close(fd)
        if not request:
            line.close()
            return None
        pidfd = os.pidfd_open(pid)
        self._children[line] = pid, pidfd
        self._watch(pidfd, lambda: self._ended(line))
        self._watch(line, lambda: self._gone(line))
        return None

    def _ended(self, line: socket.socket) -> None:
        """The child: tell its caller how."""
        pid, pidfd = self._children.pop(line)
        _, status = os.waitpid(pid, 0)
        for source in (pidfd, line):
            self._selector.unregister(source)
        os.close(pidfd)
        with contextlib.suppress(OSError):
            line.sendall(str(os.waitstatus_to_exitcode(status)).encode())
        line.close()

    def _gone(self, line: socket.socket) -> None:
        """The caller, killed: so is the child."""
        os.kill(self._children[line][0], signal.SIGKILL)
        self._ended(line)

    def _end(self) -> None:
        for pid, _ in self._children.values():
            os.kill(pid, signal.SIGKILL)
        os._exit(0)

    def _let_go(self, line: socket.socket) -> None:
        """A child keeps nothing of the server's."""
        self._selector.close()
        self._listener.close()
        line.close()
        for other, (_, pidfd) in self._children.items():
            other.close()
            os.close(pidfd)


def _take_over(streams: Sequence[int], request: list[str]) -> list[str]:
    """In the child: the caller's streams, folder and environment."""
    for number, fd in enumerate(streams):
        os.dup2(fd, number)
        os.close(fd)
    # Ours may have been a file, with a position; stdin and stdout were pipes, as the Warm above starts us.
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding=sys.stderr.encoding, errors="backslashreplace", closefd=False)
    folder, count, *rest = request
    os.chdir(folder)
    program, environment = rest[: int(count)], rest[int(count) :]
    os.environ.clear()
    for pair in environment:
        name, _, value = pair.partition("=")
        os.environ[name] = value
    time.tzset()
    return program


def _keep_code(module: ModuleType) -> None:
    """A program's code is read, and perhaps compiled, once for all children."""
    loader = module.__spec__.loader if module.__spec__ else None
    if isinstance(loader, SourceLoader):
        code = loader.get_code(module.__name__)
        loader.get_code = lambda fullname: code  # type: ignore[method-assign]


def _serve(path: str, modules: Sequence[str]) -> None:
    del sys.path[0]  # the folder that we were started in
    for name in modules:
        with contextlib.suppress(ImportError):  # the program that needs it will say so
            _keep_code(importlib.import_module(name))
    gc.collect()
    gc.freeze()  # or the children's collections would copy every page
    server = _Server(path)
    print("ready", flush=True)
    program = server.next_program()
    # `python -m` of a module that is imported already is said to be unpredictable. Ours only define and call main.
    warnings.filterwarnings("ignore", category=RuntimeWarning, module="runpy")
    os._exit(_run(program))


def _run(program: list[str]) -> int:
    """To its end, and all that a program does then, except taking its modules apart, which costs as much as a start.

    Returns its exit code.
    """
    code = 0
    try:
        if program[0] == "-m":
            sys.argv = program[1:]
            sys.path.insert(0, os.getcwd())
            runpy.run_module(program[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = program
            sys.path.insert(0, str(Path(program[0]).parent))
            runpy.run_path(program[0], run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, int | None):
            code = end.code or 0
        else:
            print(end.code, file=sys.stderr)
            code = 1
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    return code & 0xFF


if __name__ == "__main__":
    _serve(sys.argv[1], sys.argv[2:])
