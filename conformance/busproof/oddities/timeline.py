"""The oddities of a record of `timeline`: a chain that does not hold, heads and forks that stand on nothing.

Names stand as tokens there, and are shown so.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from busproof.oddities.common import back_in_time, some

START = "0" * 64
HOUR_US = 3_600_000_000


def _chain(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    """Dense numbers, each hash of its own fields, each message behind the one before it."""
    forks = {row["timeline"]: row for row in db.execute("SELECT * FROM timelines WHERE parent IS NOT NULL")}
    place: dict[str, tuple[int, str | None]] = {}
    for row in db.execute("SELECT * FROM messages ORDER BY timeline, number"):
        lane = row["timeline"]
        if lane not in place:
            place[lane] = (forks[lane]["at"], None) if lane in forks else (0, START)
        number, before = place[lane]
        where = f"message {row['number']} of timeline {lane}"
        if row["number"] != number + 1:
            yield f"{where} follows number {number}"
        if before is not None and row["previous"] != before:
            yield f"{where} does not follow the hash of the one before it"
        if row["hash"] != digest(row):
            yield f"{where} is not what was recorded: its hash is that of other fields"
        place[lane] = row["number"], row["hash"]
    for row in db.execute("SELECT * FROM timelines"):
        if place.get(row["timeline"]) != (row["number"], row["hash"]):
            yield f"timeline {row['timeline']} says that it ends at {row['number']}, and its last message is another"


def digest(row: sqlite3.Row | dict[str, Any]) -> str:
    """The hash of a message, over the fields that it covers, each with its length."""
    names = ("previous", "number", "subject", "nonce", "state", "payload", "time_us")
    parts = ["" if row[name] is None else str(row[name]) for name in names]
    data = b"".join(len(part).to_bytes(8, "big") + part for part in (text.encode("utf-8", "replace") for text in parts))
    return hashlib.sha256(data).hexdigest()


def _lanes(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    for fault, query in _FAULTS.items():
        if places := [row[0] for row in db.execute(query)]:
            yield f"{some(places)}: {fault}"


_FAULTS = {
    "a message of a timeline that is not in timelines": "SELECT DISTINCT timeline FROM messages"
    " WHERE timeline NOT IN (SELECT timeline FROM timelines)",
    "a fork of a timeline that is not there": "SELECT timeline FROM timelines AS t WHERE parent IS NOT NULL"
    " AND parent NOT IN (SELECT timeline FROM timelines)",
    "a fork beyond the end of its parent": "SELECT t.timeline FROM timelines AS t JOIN timelines AS p"
    " ON p.timeline = t.parent WHERE t.at > p.number",
    "a fork that does not follow its parent's hash at the fork point": "SELECT t.timeline FROM timelines AS t"
    " JOIN messages AS f ON f.timeline = t.timeline AND f.number = t.at + 1"
    " JOIN messages AS m ON m.timeline = t.parent AND m.number = t.at WHERE f.previous <> m.hash",
    "a subject that is another timeline's, or of another type": "SELECT subject FROM messages"
    " WHERE subject NOT LIKE 'vlinder.' || replace(timeline, '_', '\\_') || '.%.' || type || '.%' ESCAPE '\\'",
    "two messages with one subject and nonce": "SELECT subject FROM messages"
    " GROUP BY subject, coalesce(nonce, '') HAVING count(*) > 1",
    "a delivery of a message that is not there": "SELECT consumer || ' ' || position FROM deliveries"
    " WHERE position NOT IN (SELECT position FROM messages)",
    "a delivery beyond what its consumer was handed": "SELECT d.consumer || ' ' || d.position FROM deliveries AS d"
    " LEFT JOIN consumers AS c USING (consumer) WHERE d.position > coalesce(c.floor, 0)",
}


def _waiting(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    """Work that was handed out, is overdue, and has not been asked for since."""
    query = "SELECT consumer, count(*) AS held FROM deliveries WHERE visible_at_us < ? GROUP BY consumer"
    for row in db.execute(query, (now_ms * 1_000 - HOUR_US,)):
        yield f"{row['held']} messages of consumer {row['consumer']} are overdue for more than an hour: has it workers?"


def _clock(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterable[str]:
    return back_in_time(db, "timeline", "timeline", "time_us", "number")


ODDITIES = (_chain, _lanes)
NOTES = (_waiting, _clock)
