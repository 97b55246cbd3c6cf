"""Small things that scripts of several nouns say."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from busproof.adapters.base import DoorError, Refused
from busproof.session import Session
from busproof.suite import Ctx

Row = dict[str, Any]


def publish(session: Session, **message: Any) -> Row:
    """Publish with a default type, so that a script names only what it is about."""
    return session.call("publish", message={"type": "note", **message})


def poll(session: Session, **params: Any) -> list[Row]:
    """The messages of one poll."""
    messages: list[Row] = session.call("poll", **params)["messages"]
    return messages


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
def database(ctx: Ctx) -> Iterator[sqlite3.Connection]:
    """The store's bus.db, joined as any agent with SQLite bindings may."""
    with closing(sqlite3.connect(ctx.store / "bus.db", timeout=10, isolation_level=None)) as connection:
        connection.row_factory = sqlite3.Row
        yield connection


def stranger_publishes(ctx: Ctx, message_id: str, **columns: Any) -> int:
    """A row inserted with the seed's own statement by a process that knows only the schema; returns its seq."""
    row = {
        "id": message_id, "ts_ms": ctx.now_ms, "from_agent": "stranger", "to_agent": None, "type": "note",
        "correlation_id": None, "in_reply_to": None, "payload": None, "payload_ref": None, **columns,
    }  # fmt: skip
    with database(ctx) as db:
        cursor = db.execute(
            "INSERT INTO messages (id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload,"
            " payload_ref) VALUES (:id, :ts_ms, :from_agent, :to_agent, :type, :correlation_id, :in_reply_to,"
            " :payload, :payload_ref)",
            row,
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid


def exported(ctx: Ctx) -> tuple[list[Row], bool]:
    """The rows of bus.jsonl and whether the file is whole lines of JSON objects."""
    path = ctx.store / "bus.jsonl"
    text = path.read_bytes() if path.exists() else b""
    rows, whole = [], text == b"" or text.endswith(b"\n")
    for line in text.split(b"\n"):
        if not line:
            continue
        try:
            row = json.loads(line)
        except ValueError:
            whole = False
            continue
        whole = whole and isinstance(row, dict)
        rows.append(row)
    return rows, whole


def blob_files(ctx: Ctx) -> dict[str, Path]:
    """Files of the blob folder by name; names that an unfinished write may leave are not refs."""
    folder = ctx.store / "blobs"
    return {path.name: path for path in folder.iterdir()} if folder.is_dir() else {}


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
