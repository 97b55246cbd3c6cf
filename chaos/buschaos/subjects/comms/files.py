"""What the files of a `comms` project say: the database's health, torn artifacts, the lines of the audit trail."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from pathlib import Path
from typing import Any


def facts(store: Path) -> dict[str, Any]:
    """Facts about the project's folder, whatever the bus says."""
    claude = store / ".claude"
    return {
        **_database(claude / "communications" / "messages.db"),
        "torn_artifacts": _torn(claude / "artifacts"),
        **_trail(claude / "audit-trail.jsonl"),
    }


def artifacts(store: Path) -> list[dict[str, str]]:
    """Each artifact, whole: long ones by their length and digest. Temporary files do not count."""
    folder = store / ".claude" / "artifacts"
    return [
        {"path": str(path.relative_to(folder)), "content": _short(path.read_bytes())}
        for path in (sorted(folder.rglob("*.json")) if folder.is_dir() else [])
    ]


def _short(data: bytes) -> str:
    if len(data) <= 200:
        return data.decode(errors="replace")
    return f"{len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()[:16]}"


def _database(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {"integrity": None}
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=10, isolation_level=None)) as connection:
            said = [row[0] for row in connection.execute("PRAGMA integrity_check(10)")]
        return {"integrity": "; ".join(map(str, said))}
    except sqlite3.Error as error:
        return {"integrity": f"cannot be read: {error}"}


def _torn(folder: Path) -> list[str]:
    """Artifacts that hold no JSON. Temporary files do not count."""
    torn = []
    for path in sorted(folder.rglob("*.json")) if folder.is_dir() else []:
        try:
            json.loads(path.read_bytes())
        except ValueError:
            torn.append(str(path.relative_to(folder)))
    return torn


def _trail(path: Path) -> dict[str, Any]:
    """Our numbers and messages in the audit trail, and what is no whole line."""
    events: list[tuple[int, str, str | None]] = []
    bad: list[str] = []
    for number, line in enumerate(path.read_bytes().splitlines(keepends=True) if path.exists() else [], 1):
        try:
            if not line.endswith(b"\n"):
                raise ValueError("not ended")
            row = json.loads(line)
            if "audit_seq" in row:
                events.append((row["audit_seq"], row["event"], row.get("message_id")))
        except (ValueError, KeyError, TypeError):
            bad.append(f"line {number}: {line[:80]!r}")
    return {"trail": events, "bad_lines": bad[:10]}
