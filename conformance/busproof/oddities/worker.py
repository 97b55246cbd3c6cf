"""The oddities of a bus.db of `worker`, and of the blobs and the export beside it."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from busproof.oddities.common import some
from busproof.oddities.lines import numbered, odd_lines


def _version(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    version = db.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()
    if version is None or version[0] != "1":
        yield f"meta.schema_version is {version and version[0]!r}, not '1'"


def _deaf_agents(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    newest = db.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'messages'").fetchone()[0]
    for row in db.execute("SELECT agent_id, last_acked_seq FROM cursors WHERE last_acked_seq > ?", (newest,)):
        yield f"agent {row[0]} has acknowledged {row[1]}, above the newest seq {newest}: it is deaf until then"


def _numbers(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    """Each seq is given once, from 1 up, and neither cursor nor export is beyond."""
    for what, query in _NUMBERS.items():
        if seqs := [row[0] for row in db.execute(query)]:
            yield f"{what}: {some(seqs)}"


_GIVEN = "(SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'messages')"
_NUMBERS = {
    "messages above the last seq that was given": f"SELECT seq FROM messages WHERE seq > {_GIVEN}",
    "seqs below 1": "SELECT seq FROM messages WHERE seq < 1",
    "cursors below 0": "SELECT agent_id FROM cursors WHERE last_acked_seq < 0",
    "an export that is said to be beyond the last seq": f"SELECT last_seq FROM export_state WHERE last_seq > {_GIVEN}",
    "leases that were over before they began": "SELECT task_id FROM task_claims WHERE lease_until_ms < claimed_at_ms",
}


def _export(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    path = folder / "bus.jsonl"
    if not path.is_file():
        return
    yield from odd_lines(path, "seq")
    ids = dict(db.execute("SELECT seq, id FROM messages").fetchall())
    with suppress(ValueError):  # that was already told
        if others := [seq for seq, row in numbered(path, "seq") if ids.get(seq, row.get("id")) != row.get("id")]:
            yield f"seqs under which bus.jsonl has another message: {some(others)}"


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


ODDITIES = (_version, _deaf_agents, _numbers, _payloads, _export)
NOTES = ()
