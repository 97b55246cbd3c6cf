"""The streams of one run as views of DuckDB, each row with its place."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import msgspec

from busproof.oracle.checks.facts import FACTS, About, Fact

MEMORY = "1GB"  # more goes to disk
ROWS_AT_ONCE = 10_000


class Database:
    """Asked in SQL; `$dump_at` and the like are variables of it."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, about: About) -> None:
        self._connection, self.about = connection, about

    def make(self, name: str, query: str) -> None:
        """A table for queries to come."""
        self._connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {query}")

    def count(self, table: str) -> int:
        """Its rows."""
        return int(self._connection.sql(f"SELECT count(*) FROM {table}").fetchall()[0][0])

    def facts(self, stream: str, query: str) -> Iterator[Fact]:
        """The rows of a stream among these, in their order."""
        fact = FACTS[stream]
        columns = ", ".join(f'"{field.name}"' for field in msgspec.structs.fields(fact))
        rows = self._connection.execute(f"SELECT {columns} FROM ({query}) ORDER BY filename, file_row_number")
        while batch := rows.fetchmany(ROWS_AT_ONCE):
            yield from (fact(*row) for row in batch)


@contextmanager
def opened(folder: Path, run: str, about: About) -> Iterator[Database]:
    """The streams of a run of the system that this folder is of."""
    with tempfile.TemporaryDirectory(prefix="busproof-duckdb-") as scratch:
        config: dict[str, str | bool | int | float | list[str]] = {"memory_limit": MEMORY, "temp_directory": scratch}
        with duckdb.connect(config=config) as connection:
            for variable in ("dump_at", "newest_ms"):
                connection.execute(f"SET VARIABLE {variable} = ?", [getattr(about, variable)])
            connection.execute("SET VARIABLE run = ?", [run])
            for name in FACTS:
                files = f"read_parquet('{folder / name}/*.parquet', filename = true, file_row_number = true)"
                more = ", coalesce(name, id) AS message" if name in ("appended", "stored") else ""
                connection.execute(f"CREATE VIEW {name} AS SELECT *{more} FROM {files} WHERE run = getvariable('run')")
            yield Database(connection, about)
