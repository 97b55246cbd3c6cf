"""What every noun of the bus stands on: a project's folders, its database, a clock, and the session's options."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path
from typing import Any

from refbus.kernel import iso
from refbus.kernel.clock import Clock
from refbus.kernel.db import Database, statements
from refbus.kernel.errors import BusError, InvalidArgument, SchemaMismatch
from refbus.kernel.files import atomic_write, existing_folder, make_folder
from refbus.kernel.rules import bucket, delivery
from refbus.kernel.rules import limit as limits
from refbus.kernel.wake import Waiters

DB_NAME = "messages.db"
PROTOCOL_VERSION = "1.0"
# The seed's "required pragmas on every connection"; journal_mode, synchronous and busy_timeout are the kernel's.
PRAGMAS = ("PRAGMA cache_size = -64000",)
_HERE = Path(__file__).parent
SECONDS_MAX = 10 * 365 * 24 * 60 * 60


class Store:
    """An open project: the folders under `.claude` and the database in it. Threads may share it."""

    def __init__(
        self,
        project_root: Path | str,
        *,
        clock: Clock | None = None,
        synchronous: str = "NORMAL",
        visibility_ms: int = delivery.VISIBILITY_MS,
        retry_jitter: float | None = None,
        rate_capacity: float = bucket.CAPACITY,
        rate_refill_per_s: float = bucket.REFILL_PER_S,
    ) -> None:
        if synchronous not in ("NORMAL", "FULL"):
            raise InvalidArgument(f"synchronous must be NORMAL or FULL, not {synchronous!a:.40}")
        self.clock = clock or Clock()
        self.visibility_ms = limits.integer("visibility_ms", visibility_ms, 1, SECONDS_MAX * 1_000)
        self.rate_capacity = limits.number("rate_capacity", rate_capacity)
        self.rate_refill_per_s = limits.number("rate_refill_per_s", rate_refill_per_s)
        self._retry_jitter = None if retry_jitter is None else limits.number("retry_jitter", retry_jitter)
        self.root = existing_folder("project_root", project_root)
        self.folder = self.root / ".claude" / "communications"
        self.artifacts = self.root / ".claude" / "artifacts"
        for folder in (self.root / ".claude", self.folder, self.artifacts):
            make_folder(folder)
        self._agree_on_version()
        self.db = Database(self.folder / DB_NAME, synchronous=synchronous, pragmas=PRAGMAS)
        self.waiters = Waiters(self.folder, f"{DB_NAME}-wal", self.db.version)
        try:
            _create_tables(self.db)
        except BusError:
            self.db.close()
            raise

    def close(self) -> None:
        """Close all connections and watches."""
        self.waiters.close()
        self.db.close()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _now(self) -> str:
        return iso.text(self.clock.now_us())

    def _jitter(self) -> float:
        """The injected source of jitter, or a random one (C1)."""
        if self._retry_jitter is not None:
            return self._retry_jitter
        return random.uniform(delivery.JITTER_LOW, delivery.JITTER_HIGH)

    def _agree_on_version(self) -> None:
        path = self.folder / "protocol_version.txt"
        try:
            said = path.read_bytes()
        except FileNotFoundError:
            atomic_write(path, PROTOCOL_VERSION.encode())
            return
        except OSError as error:
            raise SchemaMismatch(f"protocol_version.txt cannot be read: {error}") from error
        if said.strip() != PROTOCOL_VERSION.encode():
            raise SchemaMismatch(f"protocol_version.txt says {said!a:.40}; this program speaks {PROTOCOL_VERSION}")


def initialize_communication_system(project_root: str) -> None:
    """Create the folders, the database with its schema, and WAL mode; an existing one is left as it is."""
    Store(project_root).close()


def _create_tables(database: Database) -> None:
    """Make what is missing; refuse a table of another shape, which is somebody else's."""
    extra = "SELECT 1 FROM sqlite_master WHERE name = 'audit_log'"
    if database.connection().execute(extra).fetchone():
        return
    with database.transaction() as connection:
        _refuse_strange_columns(connection)
        for statement in statements(_HERE / "schema.sql"):
            name = statement.partition("CREATE")[2].split()[1]
            if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone():
                connection.execute(statement)
        for statement in statements(_HERE / "extra.sql"):
            connection.execute(statement)


def _refuse_strange_columns(connection: sqlite3.Connection) -> None:
    pristine = sqlite3.connect(":memory:")
    try:
        for statement in statements(_HERE / "schema.sql"):
            pristine.execute(statement)
        query = "SELECT m.name, p.name FROM sqlite_master AS m, pragma_table_info(m.name) AS p WHERE m.type = 'table'"
        present = set(connection.execute(query).fetchall())
        tables = {table for table, _ in present}
        missing = {pair for pair in pristine.execute(query) if pair[0] in tables} - present
        if missing:
            raise SchemaMismatch(f"columns are missing: {', '.join('.'.join(pair) for pair in sorted(missing))}")
    finally:
        pristine.close()
