"""The facts of a `comms` project's files: the database's health, torn artifacts, the lines of the audit trail."""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path
from typing import Any

from buschaos import reading
from busproof.contract import HelloReply
from busproof.oddities.comms import torn_artifacts

TRAIL = Path(".claude") / "audit-trail.jsonl"
ARTIFACTS = Path(".claude") / "artifacts"
HOOKED = "hooked.jsonl"  # beside the store: the lines that hooks have added
_HOOKS = b'{"tool": "Edit", "file": "notes.md"}\n'  # it names no message


def append_as_a_hook(store: Path) -> bool:
    """The trail is not the bus's alone: a hook of the agent's adds its line if the last one is ended. Did it?"""
    with contextlib.suppress(OSError), open(store / TRAIL, "r+b", buffering=0) as trail:
        if trail.read().endswith(b"\n"):
            trail.write(_HOOKS)
            with open(store.parent / HOOKED, "ab") as hooked:
                hooked.write(_HOOKS)
                return True
    return False


def facts(store: Path) -> dict[str, Any]:
    """Facts about the project's folder, whatever the bus says."""
    claude = store / ".claude"
    return {
        "integrity": reading.integrity(claude / "communications" / "messages.db"),
        "torn_artifacts": torn_artifacts(store / ARTIFACTS),
        "artifacts": sorted(str(path.relative_to(store)) for path in store.glob(f"{ARTIFACTS}/*/*/*")),
        **_trail(store / TRAIL),
        "hooks": [
            path.read_bytes().count(_HOOKS) if path.exists() else 0 for path in (store.parent / HOOKED, store / TRAIL)
        ],
    }


def artifacts(store: Path, _hello: HelloReply) -> list[dict[str, str]]:
    """Each artifact, whole: long ones by their length and digest. Temporary files do not count."""
    folder = store / ARTIFACTS
    return [
        {"path": str(path.relative_to(folder)), "content": _short(path.read_bytes())}
        for path in (sorted(folder.rglob("*.json")) if folder.is_dir() else [])
    ]


def _short(data: bytes) -> str:
    if len(data) <= 200:
        return data.decode(errors="replace")
    return f"{len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()[:16]}"


def _trail(path: Path) -> dict[str, Any]:
    """The names in each whole line of the audit trail, whatever its members are called; and the lines not whole."""
    lines: list[tuple[str, list[str]]] = []
    whole, _, rest = (path.read_bytes() if path.exists() else b"").rpartition(b"\n")
    bad = [f"the last line is not ended: {rest[:80]!r}"] if rest else []
    for number, line in enumerate(whole.split(b"\n") if whole else [], 1):
        try:
            row = json.loads(line)
        except ValueError:
            bad.append(f"line {number}: {line[:80]!r}")
        else:
            named = row.values() if isinstance(row, dict) else ()
            lines.append((line.decode(), [value for value in named if isinstance(value, str)]))
    return {"trail": lines, "bad_lines": bad[:10]}
