"""`busproof chaos` while it runs: where it is, how many points were judged, and each kind of problem when it is found.

At a terminal it is one line that moves, with the problems above it. In a pipe each step is a line.
"""

from __future__ import annotations

import os
import sys
import time
from typing import IO, Any

from buschaos.limits import Progress, Time
from buschaos.state import Problem
from busproof.words import one_line

TOLD_MAX = 200  # characters of a problem


class Live(Progress):
    """The view of one run; use it as a context."""

    def __init__(self, limit: Time, kinds_max: int | None = None, *, out: IO[str] | None = None) -> None:
        super().__init__(kinds_max)
        self._limit, self._out = limit, out or sys.stderr
        self._began_s = time.monotonic()
        self._step, self._found = "starting", 0
        self._console: Any = None
        self._status: Any = None

    def __enter__(self) -> Live:
        if self._out.isatty():
            from rich.console import Console

            self._console = Console(file=self._out, no_color="NO_COLOR" in os.environ, highlight=False)
            self._status = self._console.status(self._step)
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def say(self, text: str) -> None:
        """Show the step that was done last."""
        self._step = one_line(text)
        if self._console is None:
            print(self._step, file=self._out, flush=True)
        self._show()

    def point(self, count: int = 1) -> None:
        """Count one more point, or so many."""
        super().point(count)
        self._show()

    def tell(self, problem: Problem) -> None:
        """Show a kind of problem that is new."""
        self._found += 1
        text = one_line(f"✗ {problem.noun}: {problem.why}" + (f" ({problem.point})" if problem.point else ""))
        text = text if len(text) <= TOLD_MAX else text[: TOLD_MAX - 1] + "…"
        if self._console is None:
            print(text, file=self._out, flush=True)
        else:
            from rich.text import Text

            self._console.print(Text(text, style="red"), soft_wrap=True)

    def line(self) -> str:
        """How far the run is."""
        left = f", {self._limit.left_s:.0f} s left" if self._limit.is_limited else ""
        count = f"{self._found} kinds of problems" if self._found else "no problem"
        spent_s = time.monotonic() - self._began_s
        return f"{self.points:,} points, {count}; {spent_s:.0f} s{left}; {self._step}"

    def _show(self) -> None:
        if self._status is not None:
            from rich.markup import escape

            self._status.update(escape(self.line()))
