"""Token bucket: how many messages an agent may send. Pure, time is an argument.

A bucket starts full, refills evenly and never beyond its capacity. A clock that steps back refills nothing and takes
nothing away; from there on the bucket refills again, so that nobody waits until the clock has caught up.
"""

from __future__ import annotations

from typing import NamedTuple

CAPACITY = 100.0
REFILL_PER_S = 10.0
COST = 1.0
_PARTS = 1_000_000_000  # of a token: doubles lose less


class Bucket(NamedTuple):
    """How many tokens there were at a time."""

    tokens: float
    at_us: int


def full(now_us: int, capacity: float = CAPACITY) -> Bucket:
    """The bucket of an agent that was never seen."""
    return Bucket(capacity, now_us)


def refilled(bucket: Bucket, now_us: int, capacity: float, refill_per_s: float) -> Bucket:
    """The bucket as it stands now."""
    elapsed_s = max(0, now_us - bucket.at_us) / 1_000_000
    # To a whole part, or a token that is due at this very moment would be a hair too small.
    tokens = round((bucket.tokens + elapsed_s * refill_per_s) * _PARTS) / _PARTS
    return Bucket(min(capacity, tokens), now_us)


def consume(
    bucket: Bucket, now_us: int, *, cost: float = COST, capacity: float = CAPACITY, refill_per_s: float = REFILL_PER_S
) -> tuple[Bucket, bool]:
    """Take `cost` tokens, all or none: the bucket afterwards, and whether they were taken."""
    bucket = refilled(bucket, now_us, capacity, refill_per_s)
    if bucket.tokens < cost:
        return bucket, False
    return Bucket(bucket.tokens - cost, bucket.at_us), True
