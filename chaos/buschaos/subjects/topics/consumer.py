"""`sync`, as a call that returns messages and moves its caller's cursor (B4)."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

from buschaos.subjects.base import Consumer
from buschaos.subjects.topics.operations import Prepared
from busproof.bus.session import Session
from busproof.contract.topics import DB_NAME


def _params(prepared: Prepared, waits: bool, consumes: bool) -> dict[str, Any]:
    return {"topic_id": prepared.topic, "wait_seconds": 30 * waits, "auto_advance": consumes}


def _join(session: Session, prepared: Prepared) -> None:
    session.call("topic_join", topic_id=prepared.topic, agent_name=session.agent)


def _send(session: Session, prepared: Prepared) -> None:
    session.call("sync", topic_id=prepared.topic, outbox=[{"content_markdown": "news"}], wait_seconds=0)


def _drain(session: Session, prepared: Prepared) -> list[int]:
    return _seqs(session.call("sync", topic_id=prepared.topic, wait_seconds=0))


def _seqs(reply: dict[str, Any]) -> list[int]:
    return [message["seq"] for message in reply.get("received", [])]


def _place(store: Path, prepared: Prepared) -> tuple[int, float]:
    with contextlib.closing(sqlite3.connect(store / DB_NAME, timeout=10)) as connection:
        row = connection.execute(
            "SELECT last_seq, updated_at FROM cursors WHERE topic_id = ? AND agent_name = 'alice'", (prepared.topic,)
        ).fetchone()
    return row or (0, 0.0)


CONSUMER = Consumer("sync", _params, _join, _send, _drain, _seqs, _place, DB_NAME)
