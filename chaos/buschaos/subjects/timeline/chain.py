"""The chain of a record, computed from the dump of the bus: each message follows the one before it, or its fork point.

The hash is the one of decision T21, written down once more: the bus is not asked for its own computation.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from buschaos.state import Problem

START = "0" * 64
Rows = Sequence[Mapping[str, Any]]


def broken(messages: Rows, timelines: Rows) -> Iterator[Problem]:
    """The places where numbers, hashes or heads do not follow."""
    own: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for message in messages:
        own[message["key"]["timeline"]].append(message)
    begun = {row["timeline"]: row for row in timelines}
    for name, row in begun.items():
        number, previous = _start(name, begun, own)
        for message in own[name]:
            if message["number"] != number + 1:
                yield Problem("log", f"{name}: number {message['number']} follows {number}")
            if message["previous"] != previous:
                yield Problem("log", f"{name}: message {message['number']} is not chained to the one before it")
            if message["hash"] != link(message):
                yield Problem("log", f"{name}: message {message['number']} has not the hash of its fields")
            number, previous = message["number"], message["hash"]
        if (row["number"], row["hash"]) != (number, previous):
            yield Problem("fork", f"{name}: its head is said to be {row['number']}, its last message is {number}")
    for name in sorted(own.keys() - begun.keys()):
        yield Problem("fork", f"{name}: it has messages, and no timeline of that name is told")


def link(message: Mapping[str, Any]) -> str:
    """The hash of a message whose names need no percent sign."""
    digest = hashlib.sha256()
    for field in (
        message["previous"],
        str(message["number"]),
        message["subject"],
        message.get("nonce") or "",
        message.get("state") or "",
        json.dumps(message["payload"]),
        str(message["time_us"]),
    ):
        data = field.encode()
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


def _start(name: str, begun: Mapping[str, Mapping[str, Any]], own: Mapping[str, Rows]) -> tuple[int, str]:
    """Number and hash before a timeline's first own message."""
    row = begun[name]
    parent, at = row.get("parent"), row.get("at")
    if parent is None or parent not in begun or not at:
        return 0, START
    while True:
        for message in own[parent]:
            if message["number"] == at:
                return at, message["hash"]
        parent = begun[parent].get("parent")
        if parent is None or parent not in begun:
            return at, "the fork point is not there"
