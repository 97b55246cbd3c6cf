"""The oddities of a messages.db of `comms`, and of the project's folder around it.

A bus may keep each agent's dealings with each message in `message_deliveries`, as the reference does, or have only the
seed's tables: then a claim shows in `messages`, and only its age is known.

A circuit breaker lives in the memory of the process that it guards, so no file tells whether one is open.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from busproof.bus.sqlite_comms import DELIVERIES, iso
from busproof.contract.comms import FAILURES_MAX, VISIBILITY_MS
from busproof.oddities.common import SHOWN, some
from busproof.oddities.lines import odd_lines

SILENT_MS = 90_000  # three of the seed's heartbeats
BUCKET_CAPACITY, REFILL_PER_S = 100, 10


def _version(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    path = folder / "protocol_version.txt"
    text = path.read_text(errors="replace").strip() if path.is_file() else None
    if text != "1.0":
        yield ("there is no protocol_version.txt beside it" if text is None else f"protocol_version.txt says {text!r}")


def _rows(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    """Values that no sender may store; a reader may stumble over them."""
    faults = {
        "payload is no JSON object": "CASE WHEN json_valid(payload) THEN json_type(payload) <> 'object' ELSE 1 END",
        "priority is no integer from 1 to 10": "typeof(priority) <> 'integer' OR priority NOT BETWEEN 1 AND 10",
        "status is not one of the seed's": "status NOT IN ('pending', 'processing', 'done', 'failed')",
        "version is not 1.0": "version <> '1.0'",
        "timestamp is not ISO 8601 with T and Z": "timestamp NOT GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*Z'",
    }
    for fault, condition in faults.items():
        ids = [row[0] for row in db.execute(f"SELECT id FROM messages WHERE {condition}")]
        if ids:
            yield f"{some(ids)}: {fault}"
    lengths = [row[0] for row in db.execute("SELECT DISTINCT length(timestamp) FROM messages ORDER BY 1")]
    if len(lengths) > 1:
        yield (
            f"timestamps of {', '.join(map(str, lengths))} characters: as texts they are not in the order of time (C7)"
        )


def _stuck(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    """Claimed, or failed, and available again for a minute: nobody takes it."""
    db.execute(DELIVERIES)
    now = {"now": iso(now_ms), "minute_ago": iso(now_ms - VISIBILITY_MS)}
    stuck: dict[tuple[str, str], list[sqlite3.Row]] = defaultdict(list)
    for row in db.execute(_STUCK, now):
        stuck[row["agent"], row["status"]].append(row)
    for (agent, status), rows in stuck.items():
        what = {"processing": "claimed by a process that died (C2)", "failed": "failed, its delay over (C1)"}[status]
        oldest = min(row["since"] for row in rows)
        yield f"stuck in {status} since {oldest}, {what}: to {agent}, {some([row['id'] for row in rows])}"


# By the deliveries, if the bus keeps them; else by the row alone. Expired messages are another matter.
_STUCK = """
    SELECT d.message_id AS id, d.agent_id AS agent, d.status AS status, d.visible_at AS since
    FROM message_deliveries AS d JOIN messages AS m ON m.id = d.message_id
    WHERE d.status IN ('processing', 'failed') AND d.visible_at <= :minute_ago
      AND (m.to_agent IS NULL OR m.status = d.status) AND (m.expires_at IS NULL OR m.expires_at > :now)
    UNION ALL
    SELECT m.id, m.to_agent, m.status, coalesce(m.last_delivered_at, m.created_at) FROM messages AS m
    WHERE m.to_agent IS NOT NULL AND m.status IN ('processing', 'failed')
      AND coalesce(m.last_delivered_at, m.created_at) <= :minute_ago
      AND (m.expires_at IS NULL OR m.expires_at > :now)
      AND NOT EXISTS (SELECT 1 FROM message_deliveries AS d WHERE d.message_id = m.id AND d.agent_id = m.to_agent)
"""


def _broadcasts(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    ids = [row[0] for row in db.execute("SELECT id FROM messages WHERE to_agent IS NULL AND status <> 'pending'")]
    if ids:
        yield f"broadcasts that one agent took from all the others: {some(ids)} (C3)"


def _dead_or_alive(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    """A message that failed three times is a dead letter, and no other is."""
    db.execute(DELIVERIES)
    kinds = {
        "failed three times, and no dead letter (C1)": "SELECT message_id FROM message_deliveries"
        f" WHERE failures >= {FAILURES_MAX} AND status <> 'dead'"
        f" UNION SELECT id FROM messages WHERE status = 'failed' AND delivery_count >= {FAILURES_MAX}",
        "deliveries of messages that are gone": "SELECT DISTINCT message_id FROM message_deliveries"
        " WHERE message_id NOT IN (SELECT id FROM messages)",
        "messages and dead letters at once": "SELECT id FROM dead_letter_queue WHERE id IN (SELECT id FROM messages)",
        "dead letters whose original_message is no JSON, so that nobody can send it again": "SELECT id"
        " FROM dead_letter_queue WHERE NOT json_valid(original_message)",
    }
    for kind, query in kinds.items():
        if ids := [row[0] for row in db.execute(query)]:
            yield f"{kind}: {some(ids)}"


def _counters(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    for row in db.execute(
        "SELECT agent_id, messages_pending, (SELECT count(*) FROM messages AS m WHERE m.to_agent = s.agent_id"
        " AND m.status = 'pending') AS rows FROM agent_status AS s WHERE messages_pending IS NOT rows"
    ):
        yield f"messages_pending of {row[0]} is {row[1]}, and {row[2]} of its messages are pending (C12)"
    for (agent,) in db.execute(
        "SELECT DISTINCT to_agent FROM messages WHERE status = 'pending' AND to_agent IS NOT NULL"
        " AND to_agent NOT IN (SELECT agent_id FROM agent_status)"
    ):
        yield f"messages wait for {agent}, which has no row in agent_status (C12)"


def _artifacts(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    """Torn files, and references that lead nowhere or outside."""
    root = folder.parent / "artifacts"
    yield from (f"the artifact {name} is torn: no JSON" for name in torn_artifacts(root))
    inside = sorted(root.rglob("*")) if root.is_dir() else []
    for path in inside:
        if path.is_symlink():
            yield f"the artifact {path.relative_to(root)} is a symbolic link, to {path.readlink()} (C9)"
    scratch = [str(p.relative_to(root)) for p in inside if p.suffix == ".tmp" or p.name.startswith(".tmp")]
    if scratch:
        yield f"temporary files of writers that died: {some(scratch)}"
    for message, reference in _references(db):
        path = folder.parent.parent / reference.replace("\0", "")
        if not path.resolve().is_relative_to(root.resolve()):
            yield f"message {message} refers to {reference!r}, which is outside of the artifacts (C9)"
        elif not path.is_file():
            yield f"message {message} refers to {reference}, which is not there"


def _trail(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    """Each event stands there once, among the lines of other programs."""
    path = folder.parent / "audit-trail.jsonl"
    if path.is_file():
        yield from odd_lines(path, "audit_seq", is_shared=True)


def _dead_letters(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    reasons = db.execute(
        "SELECT error, count(*) AS times, max(moved_at) AS newest FROM dead_letter_queue GROUP BY error"
        " ORDER BY times DESC, error"
    ).fetchall()
    for row in reasons[:SHOWN]:
        yield f"dead letters: {row['times']} of {row['error'][:100]!r}, the newest of {row['newest']}"
    if len(reasons) > SHOWN:
        yield f"dead letters: {len(reasons) - SHOWN} more reasons"


def _expired(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    count, oldest = db.execute(
        "SELECT count(*), min(expires_at) FROM messages WHERE expires_at <= ?", (iso(now_ms),)
    ).fetchone()
    if count:
        yield f"{count} messages are past their TTL and were not cleaned up, the oldest of {oldest}"


def _buckets(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    """Only some buses keep their buckets in the file; the reference does."""
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'token_buckets'").fetchone():
        return
    for agent, tokens, at_us in db.execute("SELECT agent_id, tokens, at_us FROM token_buckets ORDER BY 1"):
        ago_s = now_ms / 1000 - at_us / 1_000_000
        held = min(BUCKET_CAPACITY, tokens + max(0.0, ago_s) * REFILL_PER_S)
        if held < 1:
            yield f"the bucket of {agent} is empty ({held:.2f} tokens): what it sends is refused"
        if ago_s < -1:
            yield f"the bucket of {agent} was filled {-ago_s:.0f} s in the future: a clock was set back"


def _silent(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    for row in db.execute(
        "SELECT agent_id, status, last_heartbeat, messages_pending FROM agent_status WHERE last_heartbeat < ?"
        " ORDER BY last_heartbeat, agent_id",
        (iso(now_ms - SILENT_MS),),
    ):
        since = "never sent a heartbeat" if row[2] < "1971" else f"sent its last heartbeat at {row[2]}"
        yield f"agent {row[0]} ({row[1]}) {since}; {row[3]} messages wait for it"


def torn_artifacts(root: Path) -> list[str]:
    """Artifacts that hold no JSON. Temporary files do not count."""
    torn = []
    for path in sorted(root.rglob("*.json")) if root.is_dir() else []:
        if path.is_symlink() or not path.is_file():
            continue
        try:
            json.loads(path.read_bytes())
        except ValueError:
            torn.append(str(path.relative_to(root)))
    return torn


def _references(db: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """References from messages that are still there: an artifact may go when nobody refers to it any more."""
    for row in db.execute(
        "SELECT id, CASE WHEN json_valid(payload) THEN json_extract(payload, '$.artifact_path') END FROM messages"
    ):
        if isinstance(row[1], str):
            yield row[0], row[1]


ODDITIES = (_version, _rows, _stuck, _broadcasts, _dead_or_alive, _counters, _artifacts, _trail)
NOTES = (_dead_letters, _expired, _buckets, _silent)
