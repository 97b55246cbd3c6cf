"""A message: as its sender may say it, as it stands in a row, as its reader gets it."""

from __future__ import annotations

import os
from typing import Any

from refbus.kernel.errors import InvalidArgument
from refbus.kernel.rules import limit as limits

COLUMNS = (
    "seq",
    "id",
    "ts_ms",
    "from_agent",
    "to_agent",
    "type",
    "correlation_id",
    "in_reply_to",
    "payload",
    "payload_ref",
)

# Every message, archived ones included, that meets a condition.
EVERYWHERE = " UNION ALL ".join(
    f"SELECT {', '.join(COLUMNS)} FROM {table} WHERE {{0}}" for table in ("messages", "archived_messages")
)

Values = tuple[str, int, str, str | None, str, str | None, str | None, str | None, str | None]

_FIELDS = {"id", "to", "type", "correlation_id", "in_reply_to", "payload"}


class Draft:
    """A checked message before it is in the log. `text` is its payload as JSON text, None for absent (W2)."""

    __slots__ = ("correlation_id", "id", "in_reply_to", "is_large", "is_retryable", "ref", "text", "to", "type")

    def __init__(self, message: Any, spare_id: str) -> None:
        if type(message) is not dict:
            raise InvalidArgument("message must be an object")
        if not message.keys() <= _FIELDS:
            raise InvalidArgument(f"a message has no field {str(next(iter(message.keys() - _FIELDS)))!a:.80}")
        get = message.get
        self.type = limits.text("type", get("type"))
        message_id, to = get("id"), get("to")
        correlation_id, in_reply_to = get("correlation_id"), get("in_reply_to")
        # Only an id that the sender chose can have been used before.
        self.is_retryable = message_id is not None
        self.id = spare_id if message_id is None else limits.text("id", message_id)
        self.to = None if to is None else limits.name("to", to)
        self.correlation_id = None if correlation_id is None else limits.text("correlation_id", correlation_id)
        self.in_reply_to = None if in_reply_to is None else limits.text("in_reply_to", in_reply_to)
        self.text = limits.payload(message["payload"]) if "payload" in message else None
        self.is_large = self.text is not None and not limits.is_inline(self.text)
        self.ref: str | None = None  # the blob that holds the text, once it is saved

    def values(self, sender: str, now_ms: int) -> Values:
        """The message's row, but for the seq."""
        inline = self.text if self.ref is None else None
        return (self.id, now_ms, sender, self.to, self.type, self.correlation_id, self.in_reply_to, inline, self.ref)


def new_ids(count: int) -> list[str]:
    """Random UUIDs (version 4), as `uuid.uuid4` makes them, at a third of the price."""
    digits = os.urandom(16 * count).hex()
    return [
        f"{digits[at : at + 8]}-{digits[at + 8 : at + 12]}-4{digits[at + 13 : at + 16]}-"
        f"{_VARIANTS[digits[at + 16]]}{digits[at + 17 : at + 20]}-{digits[at + 20 : at + 32]}"
        for at in range(0, 32 * count, 32)
    ]


_VARIANTS = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}


def as_row(row: tuple[Any, ...]) -> dict[str, Any]:
    """The columns by name, as in the seed's export."""
    return dict(zip(COLUMNS, row, strict=True))
