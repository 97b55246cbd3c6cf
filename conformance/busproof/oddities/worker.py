"""What is odd in a bus.db of `worker`, and in the blobs beside it."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path


def _version(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    version = db.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()
    if version is None or version[0] != "1":
        yield f"meta.schema_version is {version and version[0]!r}, not '1'"


def _deaf_agents(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    newest = db.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'messages'").fetchone()[0]
    for row in db.execute("SELECT agent_id, last_acked_seq FROM cursors WHERE last_acked_seq > ?", (newest,)):
        yield f"agent {row[0]} has acknowledged {row[1]}, above the newest seq {newest}: it is deaf until then"


def _payloads(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    for row in db.execute("SELECT seq, payload_ref FROM messages WHERE payload_ref IS NOT NULL"):
        yield from _blob(row["seq"], row["payload_ref"], folder / "blobs")
    for row in db.execute("SELECT seq FROM messages WHERE payload IS NOT NULL AND NOT json_valid(payload)"):
        yield f"the payload of seq {row[0]} is no JSON"


def _blob(seq: int, ref: str, blobs: Path) -> Iterator[str]:
    if not re.fullmatch("sha256-[0-9a-f]{64}", ref):
        yield f"the payload_ref of seq {seq} is no ref: {ref!r}"
    elif not (blobs / ref).is_file():
        yield f"the blob of seq {seq} is missing: {ref}"
    elif f"sha256-{hashlib.sha256((blobs / ref).read_bytes()).hexdigest()}" != ref:
        yield f"the blob of seq {seq} is not what was stored: {ref}"


ODDITIES = (_version, _deaf_agents, _payloads)
NOTES = ()
