"""The content of a `relay` folder and its ledger, read from outside and left as it is."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import sqlite3
import tempfile
from operator import itemgetter
from pathlib import Path
from typing import Any

from buschaos import reading
from buschaos.subjects.relay.agents import ELSEWHERE, SENT, TAKEN, begun, inboxes, running, until

TABLES = ("messages", "agents", "orchestrator_state", "pending_operations")


def state(store: Path) -> dict[str, Any]:
    """The seed's tables, the copies in the inboxes, and where each file of an agent is."""
    ledger = _ledger(store)
    known = {row["pid"] for row in ledger["agents"] if row["pid"] is not None}
    return {
        **ledger,
        # Not as `messages`: the kit's checks know those by the calls that sent them, and agents make none.
        "messages": [],
        "ledger": ledger["messages"],
        "running": until(lambda: running(store), lambda agents: {agent["pid"] for agent in agents} == known),
        "begun": begun(store),
        "copies": [
            *(_copy(path.parts[-3], path) for path in inboxes(store)),
            *(_copy(path.parent.name, path) for path in sorted((store.parent / TAKEN).glob("*/*"))),
        ],
        "outboxes": [{"file": f"{path.parts[-3]}/{path.stem}"} for path in sorted(store.glob("agents/*/outbox/*.msg"))],
        "archived": sorted(map(_archived, store.glob("archive/*/*/*")), key=itemgetter("file", "sha256")),
        "scratch": [{"file": path.name} for path in sorted((store / "tmp").glob("*"))],
        "elsewhere": [{"file": path.name} for path in sorted((store.parent / ELSEWHERE).glob("*"))],
        "sent": _sent(store.parent / SENT),
    }


def facts(store: Path) -> dict[str, Any]:
    """The ledger's health."""
    return {"integrity": reading.integrity(store / "ledger.db")}


def _ledger(store: Path) -> dict[str, Any]:
    """The ledger, read from a copy: to open a database is to write beside it."""
    if not (store / "ledger.db").exists():
        return {table: [] for table in TABLES}
    with tempfile.TemporaryDirectory(prefix="busproof-ledger-") as folder:
        for path in store.glob("ledger.db*"):
            with contextlib.suppress(FileNotFoundError):
                shutil.copy(path, folder)
        with contextlib.closing(sqlite3.connect(Path(folder) / "ledger.db")) as ledger:
            ledger.execute("PRAGMA synchronous = OFF")  # a copy's log need not be durable when it is closed
            ledger.row_factory = sqlite3.Row
            known = {name for (name,) in ledger.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            return {
                table: [dict(row) for row in ledger.execute(f"SELECT * FROM {table} ORDER BY 1")]
                if table in known
                else []
                for table in TABLES
            }


def _copy(agent: str, path: Path) -> dict[str, Any]:
    """A file of an inbox, or one taken from there: its owner, its id, its whole text; torn without an empty line."""
    text = path.read_bytes().decode("utf-8", "replace")
    head, line, _ = text.partition("\n\n")
    headers = dict(item.split(": ", 1) for item in head.split("\n") if ": " in item)
    return {"agent": agent, "name": path.name, "id": headers.get("ID"), "is_whole": bool(line), "text": text}


def _archived(path: Path) -> dict[str, str]:
    """The id of an archived file, and its digest; one whose place was taken carries a number after its suffix."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return {"file": f"{path.parts[-2]}/{path.name.partition('.')[0]}", "sha256": digest}


def _sent(path: Path) -> list[dict[str, str]]:
    return [{"file": json.loads(line)} for line in path.read_text().splitlines()] if path.exists() else []
