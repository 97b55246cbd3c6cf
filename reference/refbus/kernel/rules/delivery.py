"""Deliveries: when a claimed message may be claimed again, and when it is given up. Pure, time is an argument.

    pending ──claim──► processing ──done──► done
       ▲                │   │
       │                │   └─ error ─► failed ──the retry delay is over──► (pending)
       │                │                  └──── the third failure ───────► dead
       └── the claim's visibility time-out is over; the count of deliveries stays (C2)

`visible_at` is the end of the claim while processing, and of the retry delay while failed. At that very moment the
message may be claimed again.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from refbus.kernel.rules import retry

VISIBILITY_MS = 60_000
FAILURES_MAX = 3
RETRY_DELAY_S = 1.0
JITTER_LOW, JITTER_HIGH = 0.5, 1.5

Status = Literal["pending", "processing", "done", "failed", "dead"]


class Delivery(NamedTuple):
    """One agent's work on one message so far."""

    status: Status = "pending"
    delivery_count: int = 0
    failures: int = 0
    visible_at_us: int = 0


def may_claim(delivery: Delivery, now_us: int) -> bool:
    """Is the message there to be taken?"""
    if delivery.status == "pending":
        return True
    return delivery.status in ("processing", "failed") and delivery.visible_at_us <= now_us


def claimed(delivery: Delivery, now_us: int, visibility_ms: int) -> Delivery:
    """After a claim: one more delivery (C1), for as long as the visibility time-out (C2)."""
    return delivery._replace(
        status="processing", delivery_count=delivery.delivery_count + 1, visible_at_us=now_us + visibility_ms * 1_000
    )


def failed(delivery: Delivery, now_us: int, jitter: float) -> Delivery:
    """After a failure: dead at the third, else due again after 1 s × 2^n × jitter, n counting from 0 (C1)."""
    failures = delivery.failures + 1
    if failures >= FAILURES_MAX:
        return delivery._replace(status="dead", failures=failures)
    delay_s = retry.doubled(RETRY_DELAY_S, failures - 1) * jitter
    return delivery._replace(status="failed", failures=failures, visible_at_us=now_us + round(delay_s * 1_000_000))
