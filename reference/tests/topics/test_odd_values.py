"""Any value that a caller in Python passes: an answer or a definite refusal by a code that names the fault."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from refbus.kernel.db import fault
from refbus.kernel.errors import BusError

Join = Callable[..., Any]


def deep(depth: int = 100_000) -> list[Any]:
    """A list too deep for repr."""
    nested: list[Any] = []
    for _ in range(depth):
        nested = [nested]
    return nested


ODD = {
    "null": None,
    "a number": 1,
    "beyond 64 bits": 2**63,
    "of 5,000 digits": 10**5000,
    "half": 0.5,
    "half a character": "\ud800",
    "nothing": "",
    "a cut text": "a\0b",
    "bytes": b"x",
    "true": True,
    "a tuple": (),
    "an object": object(),
    "a deep list": deep(),
}
CALLS: dict[str, tuple[str, ...]] = {  # method → its parameters, each made odd in turn
    "overview": ("topic_id",),
    "page": ("topic_id", "after", "limit", "sender", "message_type"),
    "unanswered": ("topic_id",),
    "voices": ("topic_id",),
    "messages": ("topic_id", "after"),
    "export_markdown": ("topic_id",),
    "export_jsonl": ("topic_id",),
    "topic_rename": ("topic_id", "name"),
    "topic_delete": ("topic_id",),
    "topic_list": ("status",),
    "topic_presence": ("topic_id", "window_seconds", "limit"),
    "messages_search": ("query", "topic_id", "mode", "limit", "model", "include_content"),
}
OPTIONAL = {"after", "limit", "sender", "message_type", "status", "window_seconds", "mode", "model", "include_content"}


def refusal_of(method: Callable[..., Any], arguments: dict[str, Any]) -> str | None:
    """The code by which it was refused, after all that it yields was read; None if it was not."""
    try:
        result = method(**arguments)
        if isinstance(result, Iterator):
            list(result)
    except BusError as error:
        return error.code if error.definite else f"{error.code}, perhaps done"
    return None


@pytest.mark.parametrize("kind", ODD)
def test_no_value_breaks_a_method(kind: str, join: Join) -> None:
    """And nothing is changed."""
    alice = join("alice")
    alice.sync("a word")
    good = {"topic_id": alice.topic_id, "name": "lane", "query": "word"}
    for method, names in CALLS.items():
        for odd in names:
            arguments = {name: good[name] for name in names if name not in OPTIONAL} | {odd: ODD[kind]}
            refusal = refusal_of(getattr(alice.bus, method), arguments)
            assert refusal in (None, "INVALID_ARGUMENT", "TOPIC_NOT_FOUND"), (method, odd)
    (topic,) = alice.bus.overview()
    assert (topic["name"], topic["newest_seq"]) == ("lane", 1)


def test_a_store_that_finds_no_room_when_it_opens_says_that_the_disk_is_full() -> None:
    """SQLite calls it an error of its shared memory."""
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMSIZE
    assert fault(error, definite=True).code == "DISK_FULL"
