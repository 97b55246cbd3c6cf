"""Opening a database file: create what is missing, bring an older file up to date, refuse what is newer or strange.

A face keeps two texts: the seed's own tables (`schema.sql`), and tables and indexes that the seed does not have
(`extra.sql`), which are added to any file, also to one that a stranger made. A seed that has a version keeps it in
`meta` under `schema_version`; a file without that row counts as version 0.

Everything happens in one transaction: a file that is refused stays as it was.
"""

from __future__ import annotations

import contextlib
import functools
import re
import sqlite3
from pathlib import Path
from typing import NamedTuple

from refbus.kernel.errors import SchemaMismatch
from refbus.kernel.transaction import Transaction

_CREATES = re.compile(r"CREATE (?:VIRTUAL |UNIQUE )?(?:TABLE|INDEX|VIEW|TRIGGER) (?:IF NOT EXISTS )?(\w+)")
_COUNTS = "AUTOINCREMENT"
_VERSION = re.compile("[0-9]{1,9}")
_COLUMNS = "SELECT m.name, p.name FROM sqlite_master AS m, pragma_table_info(m.name) AS p WHERE m.type = 'table'"


class Schema(NamedTuple):
    """A file's required content. `version` is None where the seed keeps none; files from `oldest` on are brought up."""

    seed: str
    extra: str
    version: int | None = None
    oldest: int = 0

    @classmethod
    def of_folder(cls, folder: Path, *, version: int | None = None, oldest: int = 0) -> Schema:
        """The texts `schema.sql` and `extra.sql` of a face's folder."""
        seed, extra = ((folder / name).read_text("utf-8") for name in ("schema.sql", "extra.sql"))
        return cls(seed, extra, version, oldest)

    def is_current(self, tx: Transaction) -> bool:
        """Is everything there, and the version ours?"""
        is_complete = _created(self.seed) | _created(self.extra) <= _names(tx) and not self._uncounted(tx)
        return is_complete and version_of(tx) == (None if self.version is None else str(self.version))

    def bring_up_to_date(self, tx: Transaction) -> None:
        """Make what is missing. Raises SCHEMA_MISMATCH for a version beyond ours and for a table of another shape."""
        self.refuse_version(tx)
        # Older files may lack tables, not columns: a table of another shape is somebody else's.
        if missing := self.missing_columns(tx):
            raise SchemaMismatch(f"columns are missing: {', '.join('.'.join(pair) for pair in missing)}")
        for table in self._uncounted(tx):
            self._count(tx, table)
        self.create_missing(tx)
        if self.version is not None:
            tx.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('schema_version', ?)", (str(self.version),))

    def refuse_version(self, tx: Transaction) -> None:
        """Raise SCHEMA_MISMATCH unless the file is empty or its version one that is brought up to ours."""
        version_text = version_of(tx)
        if self.version is None or (version_text is None and not _names(tx)):
            return
        number = 0 if version_text is None else int(version_text) if _VERSION.fullmatch(version_text) else -1
        if not self.oldest <= number <= self.version:
            has = "no schema_version" if version_text is None else f"schema_version {version_text!a:.40}"
            raise SchemaMismatch(f"the file has {has}; this program knows {self.version}")

    def create_missing(self, tx: Transaction) -> None:
        """Make every table, index and first row that is not there."""
        present = _names(tx)
        for statement in statements(self.seed) + statements(self.extra):
            created = _CREATES.search(statement)
            if created is None:
                tx.execute(re.sub(r"\bINSERT INTO\b", "INSERT OR IGNORE INTO", statement, count=1))
            elif created[1] not in present:
                tx.execute(statement)

    def _uncounted(self, tx: Transaction) -> list[str]:
        """Tables of an older file whose numbers may be given twice, where the seed has AUTOINCREMENT."""
        stand: dict[str, str] = dict(tx.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall())
        names = [_CREATES.search(text)[1] for text in statements(self.seed) if _COUNTS in text]  # type: ignore[index]
        return [name for name in names if _COUNTS not in stand.get(name, _COUNTS).upper()]

    def _count(self, tx: Transaction, table: str) -> None:
        """The same rows in the seed's table."""
        create = next(text for text in statements(self.seed) if f"CREATE TABLE {table} " in text)
        tx.execute(f"CREATE TABLE {table}_older AS SELECT * FROM {table}")
        tx.execute(f"DROP TABLE {table}")
        tx.execute(create)
        ours, theirs = (_columns_of(tx, name) for name in (table, f"{table}_older"))
        if theirs - ours:
            raise SchemaMismatch(f"{table} has no {_COUNTS}, and columns of others: {min(theirs - ours)!a:.40}")
        columns = ", ".join(sorted(ours))
        tx.execute(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM {table}_older")
        tx.execute(f"DROP TABLE {table}_older")

    def missing_columns(self, db: Transaction | sqlite3.Connection) -> list[tuple[str, str]]:
        """(table, column) of the seed that tables of a file lack."""
        present = set(db.execute(_COLUMNS).fetchall())
        tables = {table for table, _ in present}
        return sorted({pair for pair in _seed_columns(self.seed) if pair[0] in tables} - present)


def version_of(tx: Transaction) -> str | None:
    """The seed's `schema_version` of a file; None where there is none, or no `meta` that could hold it."""
    try:
        row = tx.row("SELECT value FROM meta WHERE key = 'schema_version'")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
            raise
        return None  # no such table, or one of another shape
    return None if row is None else str(row[0])


@functools.cache
def statements(text: str) -> tuple[str, ...]:
    """The statements of a schema, comments kept inside them."""
    complete, pending = [], ""
    for line in text.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            complete.append(pending.strip())
            pending = ""
    return tuple(complete)


@functools.cache
def _created(text: str) -> frozenset[str]:
    return frozenset(_CREATES.findall(text))


@functools.cache
def _seed_columns(seed: str) -> frozenset[tuple[str, str]]:
    with contextlib.closing(sqlite3.connect(":memory:")) as pristine:
        pristine.executescript(seed)
        return frozenset(pristine.execute(_COLUMNS))


def _columns_of(tx: Transaction, table: str) -> set[str]:
    return {name for _, name, *_ in tx.execute(f"PRAGMA table_info({table})").fetchall()}


def _names(tx: Transaction) -> set[str]:
    return {name for (name,) in tx.execute("SELECT name FROM sqlite_master")}
