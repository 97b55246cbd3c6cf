"""An oracle for topics: a list of messages, a cursor for each reader, a holder for each name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Topic:
    """One lane. Seq is a message's place, from 1."""

    messages: list[dict[str, Any]] = field(default_factory=list)  # sender, body, key
    cursors: dict[str, int] = field(default_factory=dict)
    is_open: bool = True

    @property
    def newest(self) -> int:
        """The highest seq; 0 where there is none."""
        return len(self.messages)

    def send(self, sender: str, body: str, key: str | None) -> tuple[int, bool] | None:
        """Seq, and whether it was there before; None where the topic is closed."""
        for seq, message in enumerate(self.messages, 1):
            if key is not None and (message["sender"], message["key"]) == (sender, key):
                return seq, True
        if not self.is_open:
            return None
        self.messages.append({"sender": sender, "body": body, "key": key})
        return self.newest, False

    def unread(self, reader: str, after: int, include_self: bool) -> list[int]:
        """Seqs that follow."""
        return [
            seq
            for seq, message in enumerate(self.messages, 1)
            if seq > after and (include_self or message["sender"] != reader)
        ]

    def advanced(self, received: list[int], is_all: bool, before: int) -> tuple[int, int]:
        """Where auto_advance may leave the cursor: at what was returned, or past own messages as well (B8)."""
        least = max([before, *received])
        return least, self.newest if is_all else least
