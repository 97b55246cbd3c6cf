"""The floor: a message's life in bare SQLite, on the seed's own tables and pragmas, one process, nobody else.

Three transactions of one statement each: no bus on this file can undercut them, one message at a time.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
import time
import uuid
from pathlib import Path

from refbus.comms.store import DB_NAME, PRAGMAS, Store

LIVES = 2000
UNLIMITED = {"rate_capacity": 1e9, "rate_refill_per_s": 1e9}  # the token bucket limits agents, not the bus
NOW, LATER = "2026-01-10T14:00:00.000000Z", "2026-01-10T15:00:00.000000Z"

INSERT = """
    INSERT INTO messages (id, type, version, timestamp, correlation_id, from_agent, to_agent, channel, priority,
                          payload, created_at, expires_at)
    VALUES (?, 'note', '1.0', ?, NULL, 'alice', 'bob', 'general', 5, ?, ?, ?)
"""
CLAIM = """
    UPDATE messages SET status = 'processing', delivery_count = 1, last_delivered_at = ?
    WHERE id = ? AND status = 'pending'
"""
COMPLETE = "UPDATE messages SET status = 'done' WHERE id = ?"


def seconds(folder: Path) -> dict[str, float]:
    """Seconds for each step of one message's life."""
    root = Path(tempfile.mkdtemp(dir=folder))
    Store(root).close()
    connection = sqlite3.connect(root / ".claude" / "communications" / DB_NAME, isolation_level=None)
    for pragma in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL", *PRAGMAS):
        connection.execute(pragma)
    payload = json.dumps({"number": 1})
    ids = [str(uuid.uuid4()) for _ in range(LIVES)]
    took = {}
    for step, statement, rows in (
        ("send", INSERT, [(id_, NOW, payload, NOW, LATER) for id_ in ids]),
        ("claim", CLAIM, [(NOW, id_) for id_ in ids]),
        ("complete", COMPLETE, [(id_,) for id_ in ids]),
    ):
        start = time.perf_counter()
        for row in rows:
            connection.execute(statement, row)
        took[step] = (time.perf_counter() - start) / LIVES
    connection.close()
    return took


def per_s(folder: Path, *steps: str) -> float:
    """How many messages a second go through these steps."""
    took = seconds(folder)
    return 1 / sum(took[step] for step in steps)
