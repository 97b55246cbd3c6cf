"""Opening a store: make the tables, bring an older file up to date, refuse what is newer or strange.

Version 0 is what precedes the seed's draft: some of its tables may be missing, or the `meta` table itself. Version 1
is the seed's schema to the letter. Extra tables are added to any file, also to one that a stranger has made.
"""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

from refbus.kernel.db import Database
from refbus.kernel.errors import SchemaMismatch

SCHEMA_VERSION = 1
EXTRA_VERSION = "1"


def bring_up_to_date(database: Database) -> None:
    """Leave the file at SCHEMA_VERSION with all extra tables, or raise SCHEMA_MISMATCH and change nothing."""
    if _is_current(database.connection()):
        return
    with database.transaction() as connection:
        version = _version(connection)
        if version > SCHEMA_VERSION:
            raise SchemaMismatch(f"the file has schema_version {version}; this program knows {SCHEMA_VERSION}")
        for statement in _statements("schema.sql"):
            _create_missing(connection, statement)
        connection.execute("UPDATE meta SET value = ? WHERE key = 'schema_version'", (str(SCHEMA_VERSION),))
        _refuse_strange_columns(connection)
        for statement in _statements("extra.sql"):
            connection.execute(statement)
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('refbus_extra_version', ?)", (EXTRA_VERSION,))


def _is_current(connection: sqlite3.Connection) -> bool:
    try:
        meta = dict(connection.execute("SELECT key, value FROM meta").fetchall())
    except sqlite3.Error:
        return False
    return meta.get("schema_version") == str(SCHEMA_VERSION) and meta.get("refbus_extra_version") == EXTRA_VERSION


def _version(connection: sqlite3.Connection) -> int:
    if not _exists(connection, "meta"):
        return 0
    row = connection.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()
    if row is None:
        return 0
    if not isinstance(row[0], str) or not re.fullmatch("[0-9]{1,9}", row[0]):
        raise SchemaMismatch(f"schema_version is {row[0]!a:.40}")
    return int(row[0])


def _create_missing(connection: sqlite3.Connection, statement: str) -> None:
    verb, name = re.search(r"(CREATE TABLE|CREATE INDEX|INSERT INTO) (\w+)", statement).groups()  # type: ignore[union-attr]
    if verb == "INSERT INTO":
        connection.execute(statement.replace("INSERT INTO", "INSERT OR IGNORE INTO", 1))
    elif not _exists(connection, name):
        connection.execute(statement)


def _exists(connection: sqlite3.Connection, name: str) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone() is not None


def _refuse_strange_columns(connection: sqlite3.Connection) -> None:
    """Older files may lack tables, not columns: a table of another shape is somebody else's."""
    pristine = sqlite3.connect(":memory:")
    try:
        pristine.executescript(_text("schema.sql"))
        for (table,) in pristine.execute("SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE TABLE%'").fetchall():
            wanted = {row[0] for row in pristine.execute("SELECT name FROM pragma_table_info(?)", (table,))}
            present = {row[0] for row in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))}
            if not wanted <= present:
                raise SchemaMismatch(f"table {table} lacks {', '.join(sorted(wanted - present))}")
    finally:
        pristine.close()


def _statements(file: str) -> list[str]:
    """The statements of a schema file, comments kept inside them."""
    statements, pending = [], ""
    for line in _text(file).splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            statements.append(pending.strip())
            pending = ""
    return statements


def _text(file: str) -> str:
    return Path(__file__).with_name(file).read_text("utf-8")
