"""An oracle for deliveries: what each agent may see, claim and has buried. Times in ms; the jitter is not known."""

from __future__ import annotations

from dataclasses import dataclass, field

VISIBILITY_MS = 60_000
FAILURES_MAX = 3


@dataclass
class Delivery:
    """One agent's dealings with one message."""

    state: str = "pending"  # pending, held, failed, done, dead
    claims: int = 0
    failures: int = 0
    not_before_ms: int = 0  # it is certainly not there before …
    surely_ms: int = 0  # … and certainly there from …

    def there(self, now_ms: int) -> bool | None:
        """Can it be claimed? None: that depends on the jitter."""
        if self.state in ("done", "dead"):
            return False
        if self.state == "pending" or now_ms >= self.surely_ms:
            return True
        return False if now_ms < self.not_before_ms else None

    def claim(self, now_ms: int) -> None:
        """Granted."""
        self.state, self.claims = "held", self.claims + 1
        self.not_before_ms = self.surely_ms = now_ms + VISIBILITY_MS

    def fail(self, now_ms: int) -> None:
        """The holder failed."""
        self.failures += 1
        self.state = "dead" if self.failures == FAILURES_MAX else "failed"
        second = 1000 * 2 ** (self.failures - 1)
        # No delay at all is a dialect (C1): a row of its own asks for it.
        self.not_before_ms, self.surely_ms = now_ms, now_ms + second * 3 // 2


@dataclass
class Sent:
    """A message, and each agent's delivery of it."""

    id: str
    to: str | None
    priority: int
    at_ms: int
    expires_ms: int
    channel: str
    payload: object
    deliveries: dict[str, Delivery] = field(default_factory=dict)

    def of(self, agent: str) -> Delivery:
        """This agent's delivery."""
        return self.deliveries.setdefault(agent, Delivery())

    def is_for(self, agent: str, now_ms: int) -> bool:
        """Is it addressed to the agent, and not expired?"""
        return self.to in (None, agent) and now_ms < self.expires_ms
