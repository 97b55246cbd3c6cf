"""Small helpers for the scripts of several nouns of `worker`."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from busproof.bus.session import Session
from busproof.play.scenarios.common import Row, at_once, definite, ids, joined, raced, said
from busproof.play.suite import Ctx
from busproof.play.suite import scenario as any_scenario

__all__ = [
    "Row",
    "acknowledge",
    "at_once",
    "blob_files",
    "database",
    "definite",
    "exported",
    "ids",
    "poll",
    "publish",
    "raced",
    "reader",
    "said",
    "scenario",
    "stranger_publishes",
]


scenario = partial(any_scenario, system="worker")


def publish(session: Session, **message: Any) -> Row:
    """Publish with a default type, so that a script names only what it is about.

    Where the bus names its messages, a script calls one by the script's own name, as long as `poll` shows it.
    """
    own = session.names
    if own is None or "id" not in message:
        return session.call("publish", message={"type": "note", **message})
    name = message.pop("id")
    reply = session.call("publish", message={"type": "note", **message})
    own[reply["id"]] = name
    return {**reply, "id": name}


def refuses_conflicts(session: Session, **to: str) -> bool:
    """Is other content under a taken id refused? Only log.11 requires that; this tries it once."""
    publish(session, id="taken", **to, payload=1)
    again = {"id": "taken", **to, "type": "note", "payload": 2}
    return session.names is None and session.refusal("publish", message=again) is not None


def poll(session: Session, **params: Any) -> list[Row]:
    """The messages of one poll."""
    messages: list[Row] = session.call("poll", **params)["messages"]
    own = session.names
    return messages if own is None else [{**row, "id": own.get(row["id"], row["id"])} for row in messages]


def reader(ctx: Ctx, name: str) -> Session:
    """An agent that has polled once: a bus may know its readers only from then on."""
    session = ctx.agent(name)
    poll(session)
    return session


def acknowledge(session: Session, messages: list[Row]) -> None:
    """The last of these; where nothing came there is nothing to acknowledge, and the script's expectation says so."""
    if messages:
        session.call("ack", seq=messages[-1]["seq"])


@contextmanager
def database(ctx: Ctx) -> Iterator[sqlite3.Connection]:
    """The store's bus.db, joined as any agent with SQLite bindings may."""
    with joined(ctx.store / "bus.db") as connection:
        yield connection


def stranger_publishes(ctx: Ctx, message_id: str, **columns: Any) -> int:
    """A row inserted with the seed's own statement by a process that knows only the schema; returns its seq."""
    row = {
        "id": message_id,
        "ts_ms": ctx.now_ms,
        "from_agent": "stranger",
        "to_agent": None,
        "type": "note",
        "correlation_id": None,
        "in_reply_to": None,
        "payload": None,
        "payload_ref": None,
        **columns,
    }
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
