"""Small helpers for the scripts of several nouns of `comms`."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from busproof.bus.session import Session
from busproof.contract import CONTRACTS
from busproof.play.scenarios.common import Row, joined
from busproof.play.suite import Ctx
from busproof.play.suite import scenario as any_scenario

scenario = partial(any_scenario, system="comms")


def send(session: Session, to: str | None = None, **params: Any) -> str:
    """Send with a default type and payload, so that a script names only what it is about; returns the id."""
    if to is not None:
        params["to_agent"] = to
    reply = session.call("send_message", **{"message_type": "note", "payload": {"n": 1}, **params})
    return str(reply["message_id"])


def receive(session: Session, *channels: str, **params: Any) -> list[Row]:
    """The messages on these channels; none named: on `general`."""
    reply = session.call("receive_messages", channels=list(channels) or ["general"], **{"limit": 100, **params})
    messages: list[Row] = reply["messages"]
    return messages


def claim(session: Session, message_id: str, **params: Any) -> bool:
    """Does this agent get the message?"""
    return bool(session.call("claim_message", message_id=message_id, **params)["claimed"])


def complete(session: Session, message_id: str, error: str | None = None, **params: Any) -> Row:
    """Done, or failed."""
    if error is not None:
        params["error"] = error
    return session.call("complete_message", message_id=message_id, **params)


def fail(session: Session, message_id: str, error: str = "it broke") -> bool:
    """Claim and fail; False if it could not be claimed."""
    if not claim(session, message_id):
        return False
    complete(session, message_id, error)
    return True


def sees(session: Session, message_id: str, *channels: str) -> bool:
    """Is the message there for this agent?"""
    return message_id in [message["id"] for message in receive(session, *channels)]


@contextmanager
def database(ctx: Ctx) -> Iterator[sqlite3.Connection]:
    """The project's messages.db."""
    with joined(path_of(ctx)) as connection:
        yield connection


def path_of(ctx: Ctx) -> Path:
    """Where the project has it."""
    return ctx.store / CONTRACTS["comms"].store


def stored(ctx: Ctx, message_id: str) -> Row:
    """The row of a message; empty if there is none."""
    with database(ctx) as db:
        row = db.execute("SELECT * FROM messages WHERE id = ?", (message_id,)).fetchone()
    return dict(row) if row else {}


def epoch_ms(text: str) -> float:
    """The time that a text tells. Without a zone it is UTC, as the seed writes it."""
    at = datetime.fromisoformat(text)
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000


def stranger_sends(ctx: Ctx, message_id: str, **columns: Any) -> None:
    """A row inserted by a process that knows only the seed's schema."""
    at = "2026-01-10T14:00:00Z"
    row = {
        "id": message_id,
        "type": "note",
        "version": "1.0",
        "timestamp": at,
        "from_agent": "stranger",
        "to_agent": None,
        "channel": "general",
        "priority": 5,
        "payload": json.dumps({"n": 1}),
        "created_at": at,
        **columns,
    }
    with database(ctx) as db:
        db.execute(
            "INSERT INTO messages (id, type, version, timestamp, from_agent, to_agent, channel, priority, payload,"
            " created_at) VALUES (:id, :type, :version, :timestamp, :from_agent, :to_agent, :channel, :priority,"
            " :payload, :created_at)",
            row,
        )
