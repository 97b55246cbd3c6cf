"""The facts of a `worker` store's files: the database's health and log, blobs, the export's lines, workers' files."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from pathlib import Path
from typing import Any

from busproof.contract import HelloReply

EXPORT, MOVED = "bus.jsonl", "bus.jsonl.moved"


def move_the_export_away(store: Path) -> None:
    """As a rotation of logs does."""
    with contextlib.suppress(FileNotFoundError):
        (store / EXPORT).rename(store / MOVED)


def facts(store: Path) -> dict[str, Any]:
    """The content of the folder: the database's health and log, the blobs, the export's lines, the workers' files."""
    return {
        **_database(store / "bus.db"),
        "blobs": _blobs(store / "blobs"),
        **_export(store),
        "torn_workers": _torn(store / "workers"),
    }


def _database(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {"integrity": None, "log": None}
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=10, isolation_level=None)) as connection:
            lines = [row[0] for row in connection.execute("PRAGMA integrity_check(10)")]
            log = connection.execute("SELECT seq, id FROM messages ORDER BY seq").fetchall()
        return {"integrity": "; ".join(map(str, lines)), "log": log}
    except sqlite3.Error as error:
        return {"integrity": f"cannot be read: {error}", "log": None}


def _blobs(folder: Path) -> dict[str, str]:
    """Each blob by its name: `ok`, or `corrupt` if its content has another hash. Temporary files do not count."""
    if not folder.is_dir():
        return {}
    return {
        blob.name: "ok" if f"sha256-{hashlib.sha256(blob.read_bytes()).hexdigest()}" == blob.name else "corrupt"
        for blob in sorted(folder.iterdir())
        if blob.name.startswith("sha256-")
    }


def _export(store: Path) -> dict[str, Any]:
    """Seq and id of each line in order; `bad_lines` are those that are no whole line of an export.

    If the file was moved away, the next one goes on behind it, or begins anew and has all.
    """
    moved, now = _lines(store / MOVED), _lines(store / EXPORT)
    if moved is None or now is None:
        lines, bad = moved or now or (None, [])
    elif moved[0][:1] == now[0][:1]:
        lines, bad = now[0], moved[1] + now[1]
    else:
        lines, bad = moved[0] + now[0], moved[1] + now[1]
    return {"lines": lines, "bad_lines": bad[:10]}


def _lines(path: Path) -> tuple[list[tuple[int, str]], list[str]] | None:
    """The lines of one file, those that are not whole apart; None if there is no such file."""
    if not path.exists():
        return None
    lines: list[tuple[int, str]] = []
    bad: list[str] = []
    for number, line in enumerate(path.read_bytes().splitlines(keepends=True), 1):
        try:
            if not line.endswith(b"\n"):
                raise ValueError("not ended")
            row = json.loads(line)
            lines.append((row["seq"], row["id"]))
        except (ValueError, KeyError, TypeError):
            bad.append(f"line {number}: {line[:80]!r}")
    return lines, bad


def beside(store: Path, hello: HelloReply) -> list[dict[str, str]]:
    """The files beside the database as the victim left them: blobs, torn workers' files, whole lines of the export.

    A line goes by its message: a torn last one does not count, the next exporter repairs it. A bus that declares no
    export may have any file under that name. A worker's file may be missing, or old: its time of update is free.
    """
    rows = [{"path": f"blobs/{name}", "content": content} for name, content in _blobs(store / "blobs").items()]
    rows += [{"path": f"workers/{name}", "content": "torn"} for name in _torn(store / "workers")]
    exports = [path for name in (EXPORT, MOVED) if "export" in hello.nouns and (path := store / name).exists()]
    for path in exports:
        for number, line in enumerate(path.read_bytes().splitlines(keepends=True), 1):
            if line.endswith(b"\n"):
                rows.append({"path": f"{path.name}, line {number}", "content": _id(line)})
    return rows


def _id(line: bytes) -> str:
    try:
        return str(json.loads(line)["id"])
    except (ValueError, KeyError, TypeError):
        return f"no line of an export: {line[:80]!r}"


def _torn(folder: Path) -> list[str]:
    """Names of the workers' files that hold no JSON object."""
    torn = []
    for path in sorted(folder.glob("*.json")):
        try:
            whole = isinstance(json.loads(path.read_bytes()), dict)
        except ValueError:
            whole = False
        if not whole:
            torn.append(path.name)
    return torn
