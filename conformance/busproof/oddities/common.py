"""What looks for odd things, and how a finding names what it is about."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

# The copy, the folder of the original, and the time in epoch milliseconds → what is to be said
Look = Callable[[sqlite3.Connection, Path, int], Iterable[str]]

SHOWN = 5


def some(names: Sequence[object]) -> str:
    """How many, and the first few."""
    more = ", …" if len(names) > SHOWN else ""
    return f"{len(names)} ({', '.join(map(str, names[:SHOWN]))}{more})"
