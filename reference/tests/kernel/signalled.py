"""`python signalled.py SIGNAL PLACES FOLDER -- ARGS…`: run `refbus ARGS` again and again, and signal it at each place.

Places are bytecodes of the main thread in the program's own files and in those of the standard library that wait. They
are counted in a run that is not signalled, and drawn evenly. A run that does not end, or that ends in a traceback, is
told on standard error, and the exit code is 1.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

import refbus
from refbus.cli import main

PATIENCE_S = 60.0
COUNTED_S = 1.0  # of a run, from its start
FIRST = 30  # before it, Python itself is still at the start, and answers Ctrl-C by a traceback
OWN = str(Path(refbus.__file__).parent)
WAITING = {module.__file__ for module in (threading, subprocess, selectors)}


class SignalAt:
    """A tracer that raises the signal at one place, or only counts them."""

    def __init__(self, place: int, number: int, begun: Path) -> None:
        self.seen, self.place, self.number, self._begun = 0, place, number, begun

    def __call__(self, frame: FrameType, event: str, _arg: Any) -> SignalAt | None:
        if event == "call":
            name = frame.f_code.co_filename
            frame.f_trace_opcodes = name.startswith(OWN) or name in WAITING
            return self if frame.f_trace_opcodes else None
        if event == "opcode":
            self.seen += 1
            if self.seen == FIRST:
                self._begun.touch()
            if self.seen == self.place:
                signal.raise_signal(self.number)
        return self


def run(argv: list[str], place: int, number: int, words: Path, counts_into: int | None = None) -> int:
    """A child of this process; its pid."""
    begun = words.with_name("begun")
    begun.unlink(missing_ok=True)
    if pid := os.fork():
        return pid
    with words.open("wb") as file:
        os.dup2(file.fileno(), 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.pipe()[0], 0)  # an input without an end
    at = SignalAt(place, number, begun)

    def tell(*_: object) -> None:
        sys.settrace(None)
        if counts_into is not None:
            os.write(counts_into, str(at.seen).encode())
            os._exit(0)

    signal.signal(signal.SIGALRM, tell)
    signal.setitimer(signal.ITIMER_REAL, 0 if counts_into is None else COUNTED_S)
    sys.argv[1:] = argv
    sys.settrace(at)
    try:
        code = main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    tell()
    sys.exit(code)


def places_of(argv: list[str], number: int, words: Path) -> int:
    """How many there are in the first moments of a run."""
    reads, writes = os.pipe()
    pid = run(argv, 0, number, words, writes)
    os.close(writes)
    os.waitpid(pid, 0)
    with os.fdopen(reads) as counted:
        return int(counted.read())


def ends(pid: int, number: int, begun: Path) -> bool:
    """Does it end? One that does not come to its place is signalled from outside."""
    began, is_asked = time.monotonic(), False
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        if not is_asked and begun.exists() and time.monotonic() - began > 2 * COUNTED_S:
            is_asked = True
            os.kill(pid, number)
        if time.monotonic() - began > PATIENCE_S:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return False
        time.sleep(0.002)
    return True


def judged(argv: list[str], number: int, places: int, folder: Path) -> int:
    """How many runs did not end as they should."""
    wrong, words = 0, folder / "stderr"
    last = places_of(argv, number, words)
    for place in range(FIRST, last + 1, max(1, last // places)):
        is_over = ends(run(argv, place, number, words), number, words.with_name("begun"))
        if not is_over or b"Traceback" in words.read_bytes():
            wrong += 1
            what = words.read_text(errors="replace") if is_over else "it did not end"
            print(
                f"{' '.join(argv)}: {signal.Signals(number).name} at place {place} of {last}: {what}", file=sys.stderr
            )
    return wrong


if __name__ == "__main__":
    name, count, here, _, *arguments = sys.argv[1:]
    sys.exit(judged(arguments, getattr(signal, name), int(count), Path(here)) != 0)
