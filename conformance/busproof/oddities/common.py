"""How a finding names what it is about."""

from __future__ import annotations

from collections.abc import Sequence

SHOWN = 5


def some(names: Sequence[str]) -> str:
    """How many, and the first few."""
    more = ", …" if len(names) > SHOWN else ""
    return f"{len(names)} ({', '.join(map(str, names[:SHOWN]))}{more})"
