"""The base of every noun of the bus: a folder, its database, a clock, and the options of this session."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from refbus.kernel.clock import Clock
from refbus.kernel.errors import InvalidArgument, of_os_error
from refbus.kernel.files import existing_folder, make_folder
from refbus.kernel.rules import lease
from refbus.kernel.rules import limit as limits
from refbus.kernel.schema import Schema
from refbus.kernel.store import Store as Base
from refbus.worker.replies import Dumped

DB_NAME = "bus.db"
JSONL_NAME = "bus.jsonl"
# Version 0 precedes the seed's draft: some of its tables may be missing, or `meta` itself. Version 1 is the seed's.
SCHEMA = Schema.of_folder(Path(__file__).parent, version=1)


class Options(TypedDict, total=False):
    """The options that a session may be opened with; the bus says what each means."""

    clock: Clock | None
    synchronous: str
    lease_ms: int
    unread_max: int | None
    deliveries_max: int | None
    signing_key: str | None
    verifying_keys: Sequence[str]


class Store(Base):
    """An open store folder (the seed's `.worker-state/`). Threads may share it."""

    def __init__(
        self,
        store: Path | str,
        *,
        clock: Clock | None = None,
        synchronous: str = "NORMAL",
        lease_ms: int = lease.LEASE_MS,
        unread_max: int | None = None,
        deliveries_max: int | None = None,
        signing_key: str | None = None,
        verifying_keys: Sequence[str] = (),
    ) -> None:
        self.folder = existing_folder("store", store)
        super().__init__(self.folder / DB_NAME, clock=clock, synchronous=synchronous)
        self.lease_ms = limits.integer("lease_ms", lease_ms, 1, limits.NOW_MS_MAX)
        self.unread_max = None if unread_max is None else limits.integer("unread_max", unread_max, 1)
        self.deliveries_max = None if deliveries_max is None else limits.integer("deliveries_max", deliveries_max, 1)
        self.signing_keys = _keys(signing_key, verifying_keys)
        self.blobs, self.workers = self.folder / "blobs", self.folder / "workers"
        make_folder(self.blobs)
        make_folder(self.workers)
        if not (self.folder / DB_NAME).exists():
            _hide_from_git(self.folder)
        self.open(SCHEMA)

    def dump(self) -> Dumped:
        """Every table that says what happened, and SQLite's opinion of its file."""
        with self.snapshot() as tx:
            stated = tx.row("SELECT last_seq FROM export_state WHERE id = 1")
            return {
                "messages": tx.dicts("SELECT * FROM messages ORDER BY seq"),
                "cursors": tx.dicts("SELECT * FROM cursors ORDER BY agent_id"),
                "task_claims": tx.dicts("SELECT * FROM task_claims ORDER BY task_id"),
                "heartbeats": tx.dicts("SELECT * FROM heartbeats ORDER BY agent_id"),
                "archived": tx.dicts("SELECT * FROM archived_messages ORDER BY seq"),
                "dead_letters": tx.dicts("SELECT * FROM dead_letters ORDER BY agent_id, seq"),
                "task_tokens": tx.dicts("SELECT * FROM task_tokens ORDER BY task_id"),
                "export_last_seq": None if stated is None else stated[0],
                "integrity": tx.integrity(),
            }


def _hide_from_git(folder: Path) -> None:
    """The seed's "(gitignored)": a commit of the store takes its export alone. What a user wrote there stays."""
    try:
        fd = os.open(folder / ".gitignore", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return
    except OSError as error:
        raise of_os_error(error, definite=True) from error
    with os.fdopen(fd, "wb") as file:
        file.write(b"*\n!/bus.jsonl\n")


def _keys(signing_key: str | None, verifying_keys: Sequence[str]) -> tuple[bytes, ...]:
    """The first key signs, all keys verify."""
    if not isinstance(verifying_keys, list | tuple):
        raise InvalidArgument("verifying_keys must be a list of keys")
    if signing_key is None:
        if verifying_keys:
            raise InvalidArgument("verifying_keys are keys beside signing_key, which is missing")
        return ()
    return tuple(_key(key) for key in (signing_key, *verifying_keys))


def _key(key: object) -> bytes:
    if not isinstance(key, str) or not re.fullmatch("(?:[0-9a-fA-F]{2})+", key):
        raise InvalidArgument("signing_key must be hex digits, two for each byte")
    return bytes.fromhex(key)
