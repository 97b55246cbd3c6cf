"""The ledger as it stands, in numbers and whole, and copies of it (7.3, 7.5)."""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
from pathlib import Path
from typing import Any, TypedDict

from refbus.kernel.db import fault
from refbus.kernel.errors import InvalidArgument, of_os_error
from refbus.kernel.files import FILE_MODE, sync, sync_folder
from refbus.kernel.rules import limit as limits
from refbus.relay.deliver import newest_in_inboxes
from refbus.relay.store import SCHEMA, Store


class Dump(TypedDict):
    """Tables as rows by column, in the order of their keys."""

    messages: list[dict[str, Any]]
    agents: list[dict[str, Any]]
    orchestrator_state: list[dict[str, Any]]
    pending_operations: list[dict[str, Any]]
    subscriptions: list[dict[str, Any]]
    continuity: list[dict[str, Any]]
    audit: list[dict[str, Any]]


class AgentState(TypedDict):
    """One agent."""

    name: str
    status: str


class Standing(TypedDict):
    """Rows of the ledger by status, and the agents by name."""

    pending: int
    processing: int
    completed: int
    failed: int
    archived: int
    agents: list[AgentState]


class Done(TypedDict):
    """Nothing to say."""


class Export:
    """Reads and copies while the orchestrator runs."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def status(self) -> Standing:
        """How many messages are in each state, and the agents."""
        with self._store.snapshot() as tx:
            count = dict(tx.rows("SELECT status, count(*) FROM messages GROUP BY status"))
            counts = {status: count.get(status, 0) for status in Standing.__annotations__}
            return {**counts, "agents": tx.dicts("SELECT name, status FROM agents ORDER BY name")}  # type: ignore[typeddict-item]

    def dump(self) -> Dump:
        """All tables, at one moment."""
        with self._store.snapshot() as tx:
            return {
                "messages": tx.dicts("SELECT * FROM messages ORDER BY id"),
                "agents": tx.dicts("SELECT * FROM agents ORDER BY name"),
                "orchestrator_state": tx.dicts("SELECT * FROM orchestrator_state ORDER BY key"),
                "pending_operations": tx.dicts("SELECT * FROM pending_operations ORDER BY id"),
                "subscriptions": tx.dicts("SELECT * FROM subscriptions ORDER BY channel, agent_name"),
                "continuity": tx.dicts("SELECT * FROM continuity ORDER BY agent_name"),
                "audit": tx.dicts("SELECT id, at_ms, event, path, detail FROM audit_log ORDER BY id"),
            }

    def backup(self, path: str) -> Done:
        """Copy the ledger into a file, whole or not at all, while it is used. Errors: INVALID_ARGUMENT, IO_ERROR."""
        target = _absolute(path)
        scratch = target.parent / f".tmp-{secrets.token_hex(8)}"
        try:
            os.close(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE))
            try:
                with contextlib.closing(sqlite3.connect(scratch)) as copy:
                    self._store.db.connection().backup(copy)
                    copy.execute("PRAGMA journal_mode = DELETE")
                sync(scratch)
                os.replace(scratch, target)
                sync_folder(target.parent)
            finally:
                with contextlib.suppress(OSError):
                    os.unlink(scratch)
        except OSError as error:
            raise of_os_error(error, definite=False) from error
        except sqlite3.Error as error:
            raise fault(error, definite=False) from error
        return {}

    def restore(self, path: str) -> Done:
        """Put a copy in the ledger's place; files stay as they are. INVALID_ARGUMENT where the file is no ledger."""
        source = _absolute(path)
        refuse_no_ledger(source)
        newest_ns = newest_in_inboxes(self._store.root)
        try:
            with contextlib.closing(_read_only(source)) as copy:
                copy.backup(self._store.db.connection())
        except sqlite3.Error as error:
            raise fault(error, definite=False) from error
        self._store.open(SCHEMA)
        # The copy does not know the files that were delivered since: names go on rising behind those, too.
        newest_ns = min(newest_ns, limits.INT64_MAX)  # an agent may give a file in its own inbox any name
        self._store.db.write("INSERT OR REPLACE INTO restored (id, inbox_newest_ns) VALUES (1, ?)", (newest_ns,))
        return {}


def refuse_no_ledger(path: Path) -> None:
    """Raise INVALID_ARGUMENT unless the file is a whole ledger."""
    try:
        with contextlib.closing(_read_only(path)) as copy:
            tables = {name for (name,) in copy.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            (integrity,) = copy.execute("PRAGMA integrity_check(1)").fetchone()
            missing = SCHEMA.missing_columns(copy)
    except sqlite3.Error as error:
        raise InvalidArgument(f"{path} is no ledger: {error}") from error
    if integrity != "ok" or missing or not {"messages", "agents", "orchestrator_state", "pending_operations"} <= tables:
        raise InvalidArgument(f"{path} is no ledger, or a damaged one")


def _read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)


def _absolute(path: object) -> Path:
    if type(path) is not str or "\0" in path or not os.path.isabs(path):
        raise InvalidArgument("path must be absolute")
    return Path(path)
