"""Each message is delivered as it was sent, byte for byte, after any deaths in between: the canonical JSON of both."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from buschaos.state import Problem, short

Sent = Mapping[str, Any]  # by the names that a reader sees


def altered(delivered: Iterable[tuple[int, str, Mapping[str, Any]]], sent: Mapping[str, Sent]) -> Iterator[Problem]:
    """Yield the messages that were shown (the event, its name, and the row) with a field that is not as it was sent.

    Each message is told once, at its first altered field. Messages that nobody sent are left to another check.
    """
    shown: set[str] = set()
    for event, name, row in delivered:
        if name not in sent or name in shown:
            continue
        for field, value in sent[name].items():
            if _text(row.get(field)) != _text(value):
                shown.add(name)
                why = f"altered: {name} was sent with {field} {short(value)}, and is delivered with "
                yield Problem("log", why + short(row.get(field)), (event,))
                break


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
