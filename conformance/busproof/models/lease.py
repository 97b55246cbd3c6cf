"""A task's lease as its claimers may rely on it. Time is an argument, in milliseconds."""

from __future__ import annotations

from dataclasses import dataclass, field

LEASE_MS = 60_000


@dataclass
class LeaseModel:
    """task → (holder, end of the lease); and the highest token seen of each task."""

    held: dict[str, tuple[str, int]] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)

    def claim(self, task: str, agent: str, now_ms: int) -> bool:
        """Granted unless somebody, the caller included, holds it now."""
        if task in self.held and self.held[task][1] > now_ms:
            return False
        self.held[task] = (agent, now_ms + LEASE_MS)
        return True

    def renew(self, task: str, agent: str, now_ms: int) -> bool:
        """Whoever took it last may renew, late or not."""
        if task not in self.held or self.held[task][0] != agent:
            return False
        self.held[task] = (agent, now_ms + LEASE_MS)
        return True

    def release(self, task: str, agent: str) -> bool:
        """Whoever took it last may give it back."""
        if task not in self.held or self.held[task][0] != agent:
            return False
        del self.held[task]
        return True

    def token_rises(self, task: str, token: int) -> bool:
        """Is this grant's token above all before it?"""
        rises = token > self.tokens.get(task, -(2**63))
        self.tokens[task] = max(token, self.tokens.get(task, token))
        return rises
