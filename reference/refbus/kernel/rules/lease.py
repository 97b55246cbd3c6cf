"""Leases: the rules for taking, renewing and releasing the claim of a task. Pure.

             take (nobody, or expired)
    free ───────────────────────────────► held by A, token n, until now + lease
     ▲                                      │      │
     │ release by A                         │      │ now >= lease_until_ms
     └──────────────────────────────────────┘      ▼
                                                 expired: anybody may take (token n + 1); A may still renew,
                                                 as long as nobody has (W9)

`lease_until_ms == now` is expired. The token rises with every grant of a task and survives a release, so the guard
of a resource can refuse a holder that slept through its lease (W10).
"""

from __future__ import annotations

from typing import NamedTuple

LEASE_MS = 60_000


class Claim(NamedTuple):
    """A row of task_claims, with the token of the task's latest grant."""

    claimed_by: str
    lease_until_ms: int
    token: int | None  # None: granted by a participant that keeps no tokens


def is_live(claim: Claim, now_ms: int) -> bool:
    """Does the claim still exclude others?"""
    return claim.lease_until_ms > now_ms


def may_take(claim: Claim | None, now_ms: int) -> bool:
    """Free or expired. The holder of a live claim cannot take it a second time."""
    return claim is None or not is_live(claim, now_ms)


def may_keep(claim: Claim | None, agent: str, token: int | None) -> bool:
    """May this agent renew or release: is the claim its own, and its token, if it shows one, the latest?"""
    return claim is not None and claim.claimed_by == agent and token in (None, claim.token)


def next_token(latest: int | None) -> int:
    """The token of the next grant."""
    return (latest or 0) + 1
