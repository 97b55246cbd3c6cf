"""`busproof audit --follow FILE`: a history that is still being written is judged again whenever it has grown.

A finding is told once, when it is found. The history itself is the checkpoint: a new start reads it anew, and loses
nothing (decision 0027).
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from busproof.oracle.checks import Verdict, Witness
from busproof.words import say
from busspark import telling
from busspark.compact import compact
from busspark.twin import judge

PAUSE_S = 1.0
Found = set[tuple[str, Witness]]  # check, and its finding
Judged = list[Verdict]


def follow(path: Path, wait: Callable[[float], None] = time.sleep) -> Judged:
    """Follow it until its footer comes, or it is damaged, or Ctrl-C; return the last verdicts."""
    known: Found = set()
    size, took_s = 0, 0.0
    verdicts: Judged = []
    try:
        while True:
            if _has_begun(path) and path.stat().st_size != size:
                size, started = path.stat().st_size, time.monotonic()
                verdicts, is_over = _look(path, known)
                took_s = time.monotonic() - started
                if is_over:
                    return verdicts
            wait(max(PAUSE_S, took_s))  # at most half of the time is spent looking
    except KeyboardInterrupt:
        say("busproof: stopped; this is what is known so far", sys.stderr)
        return verdicts


def _has_begun(path: Path) -> bool:
    """Is its first line whole?"""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.readline().endswith(b"\n")


def _look(path: Path, known: Found) -> tuple[Judged, bool]:
    """Judge it as far as it goes, and tell the new findings; True if nothing can come any more."""
    with tempfile.TemporaryDirectory(prefix="busproof-streams-") as scratch:
        (about,) = compact([path], Path(scratch))
        ((_, verdicts),) = judge(Path(scratch))
    new = [(v.check, witness) for v in verdicts for witness in v.witnesses if (v.check, witness) not in known]
    known.update(new)
    telling.tell_new(new, about)
    say(f"{about.lines:,} lines, {len(known)} violations", sys.stderr)
    return verdicts, about.is_whole or bool(about.damage)
