"""What liveness must say, from the last heartbeat of each agent."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class PresenceModel:
    """agent → (time in ms, status) of its last heartbeat."""

    beats: dict[str, tuple[int, str]] = field(default_factory=dict)

    def states(self, now_ms: int) -> dict[str, tuple[int, str]]:
        """agent → (age in ms, state)."""
        return {agent: (now_ms - at_ms, _state(now_ms - at_ms)) for agent, (at_ms, _) in self.beats.items()}


def _state(age_ms: int) -> str:
    if age_ms < 30_000:
        return "ALIVE"
    if age_ms < 100_000:
        return "WARN"
    return "STALE" if age_ms < 300_000 else "DEAD"
