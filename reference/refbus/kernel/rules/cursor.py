"""Cursors: how far an agent has processed the log. Pure.

A cursor only moves forward, and never beyond what exists: one that did would hide messages not yet written (W5).
"""

from __future__ import annotations

from refbus.kernel.errors import InvalidArgument


def advance(current: int, asked: int, newest: int) -> int:
    """Where the cursor stands after an acknowledgement."""
    if asked > newest:
        raise InvalidArgument(f"seq {asked} does not exist yet: the newest is {newest}")
    return max(current, asked)


def archivable_below(cursors: list[int]) -> int:
    """Everything up to this seq is processed by every agent that has a cursor; 0 where there is none."""
    return min(cursors, default=0)
