"""The log as its readers may rely on it: ids once, in the order of their acknowledgement. Independent of any bus."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any


@dataclass
class LogModel:
    """What was published, in order. `seqs` is filled in from the bus, because gaps are its own affair."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    seqs: dict[str, int] = field(default_factory=dict)

    def expects(self, sender: str, message: dict[str, Any]) -> str:
        """What a publish must end in: `new`, `same` (a retry), `conflict`, or `either` of the last two.

        0 and 0.0 are one number in some languages and two in others, so such a retry may be taken either way.
        """
        known = self.find(message.get("id"))
        if known is None:
            return "new"
        other = {**message, "from": sender}
        if _head(known) != _head(other) or ("payload" in known) != ("payload" in other):
            return "conflict"
        mine, theirs = known.get("payload"), message.get("payload")
        if repr(mine) == repr(theirs):
            return "same"
        return "either" if same_json(mine, theirs) else "conflict"

    def append(self, sender: str, message: dict[str, Any], message_id: str) -> None:
        """It was acknowledged under this id."""
        self.messages.append({**message, "id": message_id, "from": sender})

    def find(self, message_id: str | None) -> dict[str, Any] | None:
        """The message of an id."""
        return next((m for m in self.messages if message_id is not None and m["id"] == message_id), None)


def _head(message: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(message.get(name) for name in ("from", "to", "type", "correlation_id", "in_reply_to"))


def same_json(a: Any, b: Any) -> bool:
    """Is it the same JSON value? Numbers are compared by value, and true is not 1.

    A float may come back written as an integer, as JavaScript writes those below 1e21: in as many digits as tell the
    double, and zeros. So beside a float an integer is the double that it reads as.
    """
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same_json(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same_json, a, b))
    if isinstance(a, int | float) and isinstance(b, int | float) and float in (type(a), type(b)):
        return _double(a) == _double(b)
    return bool(a == b)


def _double(number: int | float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
