"""Presence: the state of an agent by the age of its heartbeat. Pure."""

from __future__ import annotations

from typing import Literal

State = Literal["ALIVE", "WARN", "STALE", "DEAD"]

INTERVAL_MS = 10_000
STATUSES = ("idle", "working", "blocked")

# From this age on, the worst that applies.
THRESHOLDS_MS: tuple[tuple[int, State], ...] = ((300_000, "DEAD"), (100_000, "STALE"), (30_000, "WARN"))


def state(age_ms: int) -> State:
    """ALIVE, WARN, STALE or DEAD. A heartbeat from the future is alive."""
    for at_least_ms, name in THRESHOLDS_MS:
        if age_ms >= at_least_ms:
            return name
    return "ALIVE"
