"""Who sees which message: its addressee, or everybody."""

from __future__ import annotations

from typing import Any


def view(messages: list[dict[str, Any]], agent: str) -> list[dict[str, Any]]:
    """The messages of an agent, in the log's order."""
    return [message for message in messages if message.get("to") in (None, agent)]
