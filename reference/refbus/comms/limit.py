"""How fast an agent may send: a token bucket in the file, so that it is the agent's and not a process's.

`TokenBucket` is the seed's own, for anything else that a process must not do too often.
"""

from __future__ import annotations

import threading

from refbus.comms.store import Store
from refbus.kernel.clock import Clock
from refbus.kernel.errors import RateLimited
from refbus.kernel.rules import bucket
from refbus.kernel.rules import limit as limits
from refbus.kernel.transaction import Transaction


class RateLimit:
    """The buckets of all agents; `kernel.rules.bucket` decides."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def pay(self, tx: Transaction, agent_id: str) -> None:
        """One token, before anything else is written. RATE_LIMITED: the bucket is empty; everything stays as it was."""
        capacity, refill_per_s = self.store.rate_capacity, self.store.rate_refill_per_s
        row = tx.execute("SELECT tokens, at_us FROM token_buckets WHERE agent_id = ?", (agent_id,)).fetchone()
        held = bucket.Bucket(*row) if row else bucket.full(tx.now_us, capacity)
        left, is_paid = bucket.consume(held, tx.now_us, capacity=capacity, refill_per_s=refill_per_s)
        was_set_back = left.at_us < held.at_us
        if is_paid or was_set_back:
            tx.execute(_KEEP, (agent_id, *left))
        if not is_paid:
            if was_set_back:  # the new time outlives the refusal, or the bucket would stay shut for as long
                tx.execute("COMMIT")
            raise RateLimited(f"{agent_id} has sent too much: {left.tokens:.2f} of {capacity:g} tokens left")


class TokenBucket:
    """A bucket of this process, for threads: full at first, refilled evenly."""

    def __init__(
        self, capacity: float = bucket.CAPACITY, refill_rate: float = bucket.REFILL_PER_S, *, clock: Clock | None = None
    ) -> None:
        self.capacity = limits.number("capacity", capacity, 0)
        self.refill_rate = limits.number("refill_rate", refill_rate, 0)
        self._clock = clock or Clock()
        self._bucket = bucket.full(self._clock.now_us(), capacity)
        self._lock = threading.Lock()

    def consume(self, tokens: float = 1) -> bool:
        """Take so many tokens, or none and return False."""
        with self._lock:
            self._bucket, is_taken = bucket.consume(
                self._bucket, self._clock.now_us(), cost=tokens, capacity=self.capacity, refill_per_s=self.refill_rate
            )
        return is_taken


_KEEP = "INSERT OR REPLACE INTO token_buckets (agent_id, tokens, at_us) VALUES (?, ?, ?)"
