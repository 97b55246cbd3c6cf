"""The base of every store: how a file is opened, a transaction and its moment, waiting."""

from __future__ import annotations

import concurrent.futures
import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from refbus.kernel.clock import Clock
from refbus.kernel.db import AT_ONCE_S
from refbus.kernel.errors import InvalidArgument, IoError, SchemaMismatch
from refbus.kernel.schema import Schema, statements, version_of
from refbus.kernel.store import Store

META = "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);"
SEED = f"""{META}
INSERT INTO meta (key, value) VALUES ('schema_version', '3');
CREATE TABLE jobs (id INTEGER, job TEXT);
"""
EXTRA = "CREATE TABLE IF NOT EXISTS extras (id INTEGER);\nCREATE INDEX IF NOT EXISTS jobs_by_job ON jobs(job);\n"
SCHEMA = Schema(SEED, EXTRA, version=3, oldest=2)
PLAIN = Schema("CREATE TABLE jobs (id INTEGER, job TEXT);", EXTRA)


def edit(path: Path, script: str) -> None:
    """Edit the file as a stranger does."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)


def objects(path: Path) -> dict[str, str]:
    """Every table and index of the file, by name."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file that is not there yet."""
    return tmp_path / "jobs.db"


@pytest.mark.parametrize("schema", [SCHEMA, PLAIN])
def test_an_empty_file_gets_everything_and_opening_again_changes_nothing(path: Path, schema: Schema) -> None:
    """With a version and without one."""
    for _ in range(2):
        with Store(path) as store:
            store.open(schema)
    assert set(objects(path)) == ({"meta"} if schema is SCHEMA else set()) | {"jobs", "extras", "jobs_by_job"}
    with Store(path) as store, store.snapshot() as tx:
        assert version_of(tx) == ("3" if schema is SCHEMA else None)


def test_an_open_that_fails_closes_no_connection_of_another_thread(path: Path) -> None:
    """Its first call may open a store that several threads share."""
    edit(path, SEED.replace("'3'", "'9'"))
    with Store(path) as store:
        assert store.db.rows("SELECT 1") == [(1,)]
        refused: list[BaseException] = []

        def opens() -> None:
            try:
                store.open(SCHEMA)
            except SchemaMismatch as error:
                refused.append(error)

        thread = threading.Thread(target=opens)
        thread.start()
        thread.join()
        assert refused
        assert store.db.rows("SELECT 1") == [(1,)]


def test_a_current_file_is_opened_without_a_write(path: Path) -> None:
    """So that opening waits for no writer."""
    with Store(path) as first:
        first.open(SCHEMA)
        with first.transaction(), Store(path) as second:
            second.open(SCHEMA)


def test_a_strangers_file_gets_what_the_seed_does_not_have(path: Path) -> None:
    """The seed's tables stay as the stranger made them."""
    edit(path, SEED)
    before = objects(path)
    with Store(path) as store:
        store.open(SCHEMA)
    after = objects(path)
    assert {name: after[name] for name in before} == before
    assert {"extras", "jobs_by_job"} <= set(after)


def test_an_older_file_is_brought_to_our_version(path: Path) -> None:
    """Missing tables are made, rows stay."""
    edit(path, f"{META} INSERT INTO meta VALUES ('schema_version', '2');")
    with Store(path) as store:
        store.open(SCHEMA)
        with store.snapshot() as tx:
            assert version_of(tx) == "3"
            assert tx.rows("SELECT * FROM jobs") == []


@pytest.mark.parametrize("version", ["1", "4", "three", "", "-3", "3.0"])
def test_another_version_is_refused_and_the_file_left_alone(path: Path, version: str) -> None:
    """Older than the oldest, newer, or no version at all."""
    edit(path, f"{META} INSERT INTO meta VALUES ('schema_version', '{version}');")
    before = objects(path)
    with pytest.raises(SchemaMismatch) as caught:
        Store(path).open(SCHEMA)
    assert caught.value.definite
    assert objects(path) == before


def test_a_file_without_a_version_counts_as_version_0(path: Path) -> None:
    """It is somebody else's, unless version 0 is one that we bring up to date."""
    edit(path, "CREATE TABLE jobs (id INTEGER, job TEXT);")
    with pytest.raises(SchemaMismatch, match="no schema_version"):
        Store(path).open(SCHEMA)
    with Store(path) as store:
        store.open(SCHEMA._replace(oldest=0))


@pytest.mark.parametrize("schema", [SCHEMA._replace(oldest=0), PLAIN])
def test_a_table_of_another_shape_is_refused(path: Path, schema: Schema) -> None:
    """The columns that are missing are named, and nothing is made."""
    edit(path, "CREATE TABLE jobs (id INTEGER, task TEXT);")
    with pytest.raises(SchemaMismatch, match=r"columns are missing: jobs\.job"):
        Store(path).open(schema)
    assert set(objects(path)) == {"jobs"}


def test_statements_keep_their_comments() -> None:
    """SQLite stores them with the table."""
    assert statements("-- a; b\nCREATE TABLE t (\n  a -- ; c\n);\nCREATE INDEX i ON t(a);\n") == (
        "-- a; b\nCREATE TABLE t (\n  a -- ; c\n);",
        "CREATE INDEX i ON t(a);",
    )


@pytest.mark.parametrize("synchronous", ["OFF", "normal", "", None, 1])
def test_synchronous_is_normal_or_full(path: Path, synchronous: str) -> None:
    """The same words for every bus."""
    with pytest.raises(InvalidArgument, match=r"synchronous must be (one of NORMAL, FULL|a string)"):
        Store(path, synchronous=synchronous)
    assert not path.exists()


class Running(Clock):
    """A clock that moves whenever it is read."""

    reads_us = 0

    def now_us(self) -> int:
        self.reads_us += 1_000_000
        return self.reads_us


def test_a_transaction_has_one_moment_read_after_its_lock(path: Path) -> None:
    """All that it writes bears the same time, and no other transaction's time lies between its lock and its commit."""
    with Store(path, clock=Running()) as store:
        with store.transaction() as tx:
            assert (tx.now_us, tx.now_ms, tx.now_us) == (1_000_000, 1_000, 1_000_000)
        order: list[str] = []

        def second() -> None:
            with store.transaction() as tx:
                order.append(f"second at {tx.now_ms}")

        with store.transaction() as tx:
            thread = threading.Thread(target=second)
            thread.start()
            order.append(f"first at {tx.now_ms}")
        thread.join()
    assert order == ["first at 2000", "second at 3000"]


def test_a_transaction_reads_rows_by_name_and_bytes_that_are_no_text(path: Path) -> None:
    """A stranger's column may hold anything."""
    with Store(path) as store:
        store.open(SCHEMA)
        with store.transaction() as tx:
            tx.executemany("INSERT INTO jobs VALUES (?, ?)", [(1, "a"), (2, "b")])
            tx.execute("INSERT INTO jobs VALUES (3, CAST(x'ff' AS TEXT))")
        with store.snapshot() as tx:
            assert tx.dicts("SELECT * FROM jobs ORDER BY id")[1:] == [{"id": 2, "job": "b"}, {"id": 3, "job": "\ufffd"}]
            assert tx.row("SELECT job FROM jobs WHERE id = ?", (1,)) == ("a",)
            assert tx.row("SELECT job FROM jobs WHERE id = 9") is None
            assert tx.integrity() == "ok"


def test_nothing_of_a_transaction_that_fails_is_kept(path: Path) -> None:
    """And the error is the caller's own."""
    with Store(path) as store:
        store.open(SCHEMA)
        with pytest.raises(ZeroDivisionError), store.transaction() as tx:
            tx.execute("INSERT INTO jobs VALUES (1, 'a')")
            raise ZeroDivisionError
        assert store.db.rows("SELECT * FROM jobs") == []


def test_a_wait_ends_with_what_it_looks_for_or_with_its_time(path: Path) -> None:
    """On real time: the store's own clock stands still here."""
    with Store(path, clock=Clock(0)) as store:
        store.open(SCHEMA)

        def look() -> list[tuple[int, str]]:
            return store.db.rows("SELECT * FROM jobs")

        assert store.wait_for(look, 0.01) == []
        writer = threading.Timer(0.05, store.db.write, ("INSERT INTO jobs VALUES (1, 'a')",))
        writer.start()
        assert store.wait_for(look, 60) == [(1, "a")]
        writer.join()


def moved_away(path: Path) -> None:
    """Renamed, so that its content can still be looked at."""
    path.rename(path.with_suffix(".old"))


def replaced(path: Path) -> None:
    """By a file of the same content, as a backup is restored."""
    with Store(path.with_suffix(".new")) as other:
        other.open(SCHEMA)
    path.with_suffix(".new").replace(path)


def folder_moved(path: Path) -> None:
    """The whole store."""
    path.parent.rename(path.parent.with_suffix(".old"))


def log_removed(path: Path) -> None:
    """The newest commits are in it, and those who open the file now do not see them."""
    Path(f"{path}-wal").unlink()


REMOVALS = [Path.unlink, moved_away, replaced, folder_moved, log_removed]
CALLS = {
    "write": lambda store: store.db.write("INSERT INTO jobs VALUES (1, 'lost')"),
    "transaction": lambda store: insert(store),
    "version": lambda store: store.version(),
    "wait_for": lambda store: store.wait_for(lambda: None, 30),
}


def insert(store: Store) -> None:
    """One row in a transaction."""
    with store.transaction() as tx:
        tx.execute("INSERT INTO jobs VALUES (1, 'lost')")


@pytest.mark.parametrize("remove", REMOVALS, ids=lambda remove: remove.__name__)
@pytest.mark.parametrize("call", CALLS)
def test_a_file_that_is_no_longer_where_it_was_is_refused_definitely(
    tmp_path: Path, remove: Callable[[Path], object], call: str
) -> None:
    """By this thread's connection and by a new thread's, and again and again: no second file is begun beside it."""
    folder = tmp_path / "store"
    folder.mkdir()
    with Store(folder / "jobs.db") as store:
        store.open(SCHEMA)
        CALLS["write"](store)
        remove(store.path)
        there = sorted(folder.iterdir()) if folder.exists() else None
        with concurrent.futures.ThreadPoolExecutor(1) as other_thread:
            attempts = [lambda: CALLS[call](store)] * 2
            if remove is not log_removed:  # a new connection begins a log of its own, which all find
                attempts.append(lambda: other_thread.submit(CALLS[call], store).result())
            for attempt in attempts:
                with pytest.raises(IoError, match="removed or replaced") as refused:
                    attempt()
                assert refused.value.definite
        assert (sorted(folder.iterdir()) if folder.exists() else None) == there


def test_a_read_of_a_file_that_has_gone_answers_from_it(path: Path) -> None:
    """It promises nothing, and costs no look: the next one to write or wait is told."""
    with Store(path) as store:
        store.open(SCHEMA)
        insert(store)
        path.unlink()
        with store.snapshot() as tx:
            assert tx.row("SELECT count(*) FROM jobs") == store.db.row("SELECT count(*) FROM jobs") == (1,)
        with pytest.raises(IoError):
            insert(store)


def test_a_file_that_is_put_back_is_used_on(path: Path) -> None:
    """The session goes on where it was: it is the same file."""
    with Store(path) as store:
        store.open(SCHEMA)
        path.rename(path.with_suffix(".old"))
        with pytest.raises(IoError):
            insert(store)
        path.with_suffix(".old").rename(path)
        insert(store)
        assert store.db.row("SELECT count(*) FROM jobs") == (1,)


def test_a_file_that_is_removed_while_a_writer_waits_for_the_lock_is_not_written(path: Path) -> None:
    """The lock is let go after the file has gone."""
    with Store(path) as store, contextlib.closing(sqlite3.connect(path, isolation_level=None)) as holder:
        store.open(SCHEMA)
        holder.execute("BEGIN IMMEDIATE")
        with concurrent.futures.ThreadPoolExecutor(1) as thread:
            waiting = thread.submit(insert, store)
            while store.db._open.keys() <= {threading.current_thread()}:
                pass  # until it has its connection, which it makes before it waits
            path.rename(path.with_suffix(".old"))
            holder.execute("ROLLBACK")
            with pytest.raises(IoError, match="removed or replaced"):
                waiting.result()
        assert holder.execute("SELECT count(*) FROM jobs").fetchone() == (0,)


def test_a_statement_that_waited_for_the_lock_of_a_file_that_went_is_not_said_to_have_happened(path: Path) -> None:
    """It has happened, in a file that nobody can find: nobody can say that it did not."""
    with Store(path) as store, contextlib.closing(sqlite3.connect(path, isolation_level=None)) as holder:
        store.open(SCHEMA)
        holder.execute("BEGIN IMMEDIATE")
        with concurrent.futures.ThreadPoolExecutor(1) as thread:
            begun = threading.Event()
            thread.submit(store.db.connection).result().set_trace_callback(lambda _: begun.set())
            waiting = thread.submit(store.db.write, "INSERT INTO jobs VALUES (1, 'lost')")
            begun.wait()
            path.rename(path.with_suffix(".old"))
            time.sleep(2 * AT_ONCE_S)
            holder.execute("ROLLBACK")
            with pytest.raises(IoError, match="removed or replaced") as refused:
                waiting.result()
        assert not refused.value.definite
