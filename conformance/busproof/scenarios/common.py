"""Small things that scripts of all systems say."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from busproof.adapters.base import DoorError, Refused

Row = dict[str, Any]


def ids(messages: list[Row]) -> list[str]:
    """Their ids, in order."""
    return [message["id"] for message in messages]


def definite(refusal: Refused | None, *codes: str) -> bool:
    """Was it refused, certainly not done, and with one of these codes (any code, if none is named)?"""
    return refusal is not None and refusal.definite and (not codes or refusal.code in codes)


def said(refusal: Refused | None) -> str:
    """What the bus answered, for a `why`."""
    if refusal is None:
        return "the call was accepted"
    return f"the answer was {refusal.code} (definite: {str(refusal.definite).lower()}): {refusal.message}"


@contextmanager
def joined(path: Path) -> Iterator[sqlite3.Connection]:
    """A database file, joined as any agent with SQLite bindings may."""
    with closing(sqlite3.connect(path, timeout=10, isolation_level=None)) as connection:
        connection.row_factory = sqlite3.Row
        yield connection


def at_once(*calls: Callable[[], Row]) -> list[Row | DoorError]:
    """Run the calls in threads that start together; each gives its reply or its error."""
    gate = threading.Barrier(len(calls))
    results: list[Row | DoorError] = [{} for _ in calls]

    def run(index: int, call: Callable[[], Row]) -> None:
        gate.wait()
        try:
            results[index] = call()
        except DoorError as error:
            results[index] = error

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
