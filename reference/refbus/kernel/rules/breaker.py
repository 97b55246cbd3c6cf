"""Circuit breaker: stop calling a service that keeps failing. Pure, time is an argument.

         failures in a row reach the threshold
closed ───────────────────────────────────────► open
  ▲  ▲                                            │ more than the time-out has passed: the next call
  │  └── success resets the count                 ▼
  └───────────── the probe succeeds ────────── half_open: one probe is out, all others are refused
                                                  └── the probe fails: open again, from now (C8)
"""

from __future__ import annotations

from typing import Literal, NamedTuple

FAILURE_THRESHOLD = 5
TIMEOUT_MS = 60_000

State = Literal["closed", "open", "half_open"]


class Breaker(NamedTuple):
    """Failures in a row, and when the last one was."""

    state: State = "closed"
    failures: int = 0
    failed_at_ms: int = 0


def admit(breaker: Breaker, now_ms: int, *, timeout_ms: int = TIMEOUT_MS) -> tuple[Breaker, bool]:
    """May a call go through? In half_open the one probe is out already."""
    if breaker.state == "closed":
        return breaker, True
    if breaker.state == "open" and now_ms - breaker.failed_at_ms > timeout_ms:
        return breaker._replace(state="half_open"), True
    return breaker, False


def succeeded(breaker: Breaker) -> Breaker:
    """A call that was admitted came back. One admitted before the breaker opened does not close it."""
    return breaker if breaker.state == "open" else Breaker()


def failed(breaker: Breaker, now_ms: int, *, threshold: int = FAILURE_THRESHOLD) -> Breaker:
    """A call that was admitted failed."""
    failures = breaker.failures + 1
    is_open = breaker.state != "closed" or failures >= threshold
    return Breaker("open" if is_open else "closed", failures, now_ms)
