"""An agent's position in its view of the log: how many of the log's messages it has acknowledged."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class CursorModel:
    """Positions count messages of the whole log, so that no seq is needed. They only grow."""

    positions: dict[str, int] = field(default_factory=dict)

    def at(self, agent: str) -> int:
        """How many messages of the log, from its start, are behind this agent."""
        return self.positions.get(agent, 0)

    def ack(self, agent: str, position: int) -> None:
        """Backwards is a no-op."""
        self.positions[agent] = max(position, self.at(agent))
