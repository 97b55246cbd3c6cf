"""A program that the warm process forks for us, as subprocess.Popen shows one that is started.

The command of a warm program is handover.py, so that anybody can start it. A door does the work of that program, and
saves its start: a third of the cost of a restart.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from io import FileIO

from busproof.bus import handover

COMMAND = (sys.executable, "-S", "-E", handover.__file__)  # then the socket, then the program


def is_forked(argv: Sequence[str]) -> bool:
    """Is it the command of a program that a warm process forks?"""
    return tuple(argv[: len(COMMAND)]) == COMMAND


class Forked:
    """The parts of Popen that a Child needs. The program is the leader of a session of its own."""

    def __init__(self, argv: Sequence[str], folder: str, environment: Mapping[str, str]) -> None:
        (theirs_in, ours_in), (ours_out, theirs_out), (ours_err, theirs_err) = (os.pipe() for _ in range(3))
        self.stdin, self.stdout, self.stderr = FileIO(ours_in, "wb"), FileIO(ours_out), FileIO(ours_err)
        theirs = (theirs_in, theirs_out, theirs_err)
        path, *program = argv[len(COMMAND) :]
        try:
            self._line, self.pid = handover.asked(path, program, folder, environment, theirs)
        except BaseException:
            for stream in (self.stdin, self.stdout, self.stderr):
                stream.close()
            raise
        finally:
            for end in theirs:
                os.close(end)
        self._code: int | None = None
        self._telling = threading.Lock()

    def poll(self) -> int | None:
        """Its exit code, as subprocess has it, once it is over."""
        return self._told(within_s=0)

    def wait(self, timeout: float | None = None) -> int:
        """The same, once it is over; or subprocess.TimeoutExpired."""
        code = self._told(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(list(COMMAND), timeout or 0)
        return code

    def _told(self, within_s: float | None) -> int | None:
        line = self._line.fileno()
        if self._code is None and line >= 0:
            poll = select.poll()
            poll.register(line, select.POLLIN)
            if not poll.poll(None if within_s is None else within_s * 1000):
                return None
        with self._telling:  # several threads may have waited for it
            if self._code is None:
                self._code = handover.exit_code(self._line)
                self._line.close()
        return self._code
