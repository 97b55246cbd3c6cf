"""`busproof check` while it runs: rows decided, failures as they come, and how many items are done.

The time left is not told: items take a second or a minute, and estimates misled.

The view reads the files that the run leaves in OUT/parts, so it needs no channel to pytest. At a terminal it is one
line that moves, below each cause that broke rows; in a pipe it tells only these, and its progress once a minute.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from busproof.pages.report.causes import causes, held_elsewhere, settled
from busproof.words import one_line

DECIDED = ("fail", "warn", "pass")  # the worst first; another item may decide a row that one could not
TELL_S = 60.0  # how often a pipe hears how far the run is
SHOWN = 3  # of the items that are waited for
LONG_S = 5.0  # without another item: those that are played are long


class Live:
    """The view of one run. `look()` reads new parts; use it as a context."""

    def __init__(self, parts: Path, items: Sequence[str], *, out: IO[str] | None = None, quiet: bool = False) -> None:
        self._parts, self._items, self._quiet = parts, [f"{name}.json" for name in items], quiet
        self._out = out or sys.stderr
        self._is_terminal = self._out.isatty() and not quiet
        self._began = self._told = time.monotonic()
        self._seen: set[str] = set()
        self._last = self._began  # when an item came
        self._all: list[dict[str, Any]] = []
        self._rows: dict[str, str] = {}  # how each row stands
        self._status: Any = None

    def __enter__(self) -> Live:
        if self._is_terminal:
            from rich.console import Console

            self._console = Console(file=self._out, no_color="NO_COLOR" in os.environ, highlight=False)
            self._status = self._console.status("starting")
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def look(self) -> None:
        """Read the parts that came since, tell what broke in them, and say how far it is."""
        for path in sorted(self._parts.glob("*.json")):
            if path.name not in self._seen and (rows := _rows(path)) is not None:
                self._seen.add(path.name)
                self._last = time.monotonic()
                self._take(rows)
        now = time.monotonic()
        if self._status is not None:
            from rich.markup import escape

            self._status.update(escape(self.line()))
        elif not self._quiet and now - self._told > TELL_S:
            self._told = now
            print(self.line(), file=self._out, flush=True)

    def line(self) -> str:
        """How far it is, in one line."""
        rows = Counter(self._rows.values())
        counts = [f"{rows['pass']} rows pass", *(f"{rows[name]} {name}" for name in ("fail", "warn") if rows[name])]
        now, left = time.monotonic(), [name for name in self._items if name not in self._seen]
        waits = f", waiting for {_names(left)}" if left and now - self._last > LONG_S else ""
        return (
            f"{len(self._seen)} of {len(self._items)} items, {', '.join(counts)}; {_duration(now - self._began)}{waits}"
        )

    def _take(self, rows: list[dict[str, Any]]) -> None:
        """Count them, and tell each cause by its first row, if any of its rows is new."""
        for cause in causes(rows):
            names = {row["requirement"] for row in cause} - set(held_elsewhere(cause))
            if cause[0]["outcome"] == "fail" and any(self._rows.get(name) != "fail" for name in names):
                self._tell(cause[0], len(names) - 1)
        self._all += rows
        self._rows = {}
        for row in settled(self._all):
            if row["outcome"] in DECIDED:
                before = self._rows.get(row["requirement"], DECIDED[-1])
                self._rows[row["requirement"]] = min(row["outcome"], before, key=DECIDED.index)

    def _tell(self, row: dict[str, Any], others: int) -> None:
        if self._quiet:
            return
        with_it = f" and {others} more" if others else ""
        text = one_line(f"fail {row['requirement']}{with_it}: {' '.join(row['why'].split())}")
        text = text if len(text) <= 160 else text[:159] + "…"
        if self._status is not None:
            from rich.text import Text

            self._console.print(Text(text, style="red"), soft_wrap=True)
        else:
            print(text, file=self._out, flush=True)


def _names(files: list[str]) -> str:
    """The first of them: those that began first."""
    more = f" and {len(files) - SHOWN} more" if len(files) > SHOWN else ""
    return ", ".join(name.removesuffix(".json").partition("-")[2] for name in files[:SHOWN]) + more


def _rows(path: Path) -> list[dict[str, Any]] | None:
    """The rows of a part; None while it is being written."""
    try:
        rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return None
    return rows


def _duration(seconds: float) -> str:
    """12 s, 3 min, 1.5 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
