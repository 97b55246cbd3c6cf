"""The log as its readers may rely on it: ids once, in the order of their acknowledgement. Independent of any bus."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class LogModel:
    """What was published, in order. `seqs` is filled in from the bus, because gaps are its own affair."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    seqs: dict[str, int] = field(default_factory=dict)

    def expects(self, sender: str, message: dict[str, Any]) -> str:
        """What a publish must end in: `new`, `same` (a retry) or `conflict`."""
        known = self.find(message.get("id"))
        if known is None:
            return "new"
        return "same" if _content(known) == _content({**message, "from": sender}) else "conflict"

    def append(self, sender: str, message: dict[str, Any], message_id: str) -> None:
        """It was acknowledged under this id."""
        self.messages.append({**message, "id": message_id, "from": sender})

    def find(self, message_id: str | None) -> dict[str, Any] | None:
        """The message of an id."""
        return next((m for m in self.messages if message_id is not None and m["id"] == message_id), None)


def _content(message: dict[str, Any]) -> tuple[Any, ...]:
    fields = ("from", "to", "type", "correlation_id", "in_reply_to")
    return (*(message.get(name) for name in fields), "payload" in message, repr(message.get("payload")))
