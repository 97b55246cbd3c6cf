"""Retry: when to look again, when to try again, when to give up. Pure."""

from __future__ import annotations

import math

POLL_ACTIVE_MS = 200.0
POLL_IDLE_MS = 2000.0
POLL_BACKOFF = 1.5

LOCK_ATTEMPTS_MAX = 3  # each waits busy_timeout first: together 15 s, less than a caller's patience
LOCK_BACKOFF_MS = 50.0
FAILURE_PAUSE_S, FAILURE_PAUSE_S_MAX = 0.1, 5.0
DOUBLINGS_MAX = 1000  # a counter of failures may grow for a year; a double holds no more


def next_poll_ms(interval_ms: float, has_messages: bool) -> float:
    """The pause after a poll: short after messages, else half as long again, up to two seconds."""
    return POLL_ACTIVE_MS if has_messages else min(interval_ms * POLL_BACKOFF, POLL_IDLE_MS)


def lock_backoff_ms(attempt: int, jitter: float) -> float | None:
    """The pause before the next attempt at a lock (attempt counts from 1), or None: give up.

    Doubles each time; `jitter` in [0, 1) spreads it over half to one and a half, so that losers do not meet again.
    """
    if attempt >= LOCK_ATTEMPTS_MAX:
        return None
    return doubled(LOCK_BACKOFF_MS, attempt - 1) * (0.5 + jitter)


def failure_pause_s(failures: int) -> float:
    """The pause of a program that goes on after a failure, so many failures in a row before it."""
    return min(FAILURE_PAUSE_S_MAX, doubled(FAILURE_PAUSE_S, failures))


def is_dead(deliveries: int, deliveries_max: int | None) -> bool:
    """Has a message failed so often that it must leave its agent's queue (W11)?"""
    return deliveries_max is not None and deliveries >= deliveries_max


def send_delay_s(attempt: int, base_s: float, jitter: float) -> float:
    """Seconds before the next attempt at a send: doubling from base_s (attempt counts from 0), spread by jitter."""
    return doubled(base_s, attempt) * jitter


def doubled(value: float, times: int) -> float:
    """The value, doubled so many times, or as often as there is a use."""
    return math.ldexp(value, min(times, DOUBLINGS_MAX))
