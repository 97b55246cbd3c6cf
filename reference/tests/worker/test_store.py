"""Opening a store: new, old, foreign, too new, damaged; and the options of a session."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refbus.kernel import files
from refbus.kernel.db import Database
from refbus.kernel.errors import Corrupt, InvalidArgument, IoError, SchemaMismatch
from refbus.kernel.schema import statements
from refbus.worker.bus import WorkerBus
from refbus.worker.store import SCHEMA as WORKER_SCHEMA

OpenBus = Callable[..., WorkerBus]
SCHEMA = WORKER_SCHEMA.seed


def edit(store: Path, script: str) -> None:
    """Edit the file as a stranger does."""
    connection = sqlite3.connect(store / "bus.db")
    connection.executescript(script)
    connection.close()


def schema(store: Path) -> dict[str, str]:
    """The seed's tables and indexes as the file holds them."""
    connection = sqlite3.connect(store / "bus.db")
    try:
        rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    finally:
        connection.close()
    return dict(rows)


def pristine() -> dict[str, str]:
    """The seed's schema as SQLite stores it."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(SCHEMA)
        rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    finally:
        connection.close()
    return dict(rows)


def test_every_connection_has_the_seeds_pragmas(bus: WorkerBus) -> None:
    """No other program sees them."""
    pragmas = {name: bus.db.row(f"PRAGMA {name}") for name in ("synchronous", "foreign_keys", "busy_timeout")}
    assert pragmas == {"synchronous": (1,), "foreign_keys": (1,), "busy_timeout": (5000,)}


def test_full_synchronisation_is_an_option(open_bus: OpenBus) -> None:
    """For those who fear a power cut (W12)."""
    assert open_bus(synchronous="FULL").db.row("PRAGMA synchronous") == (2,)


@pytest.mark.parametrize("version", ["0", "1"])
def test_an_older_log_that_gives_a_seq_twice_is_brought_up_to_date(
    store: Path, open_bus: OpenBus, version: str
) -> None:
    """The seed's first draft had no AUTOINCREMENT: its messages move, with their numbers."""
    older = SCHEMA.replace(" AUTOINCREMENT", "") + f"UPDATE meta SET value = '{version}';"
    edit(store, older + "INSERT INTO messages (seq, id, ts_ms, from_agent, type) VALUES (7, 'm', 1, 'nim', 't');")
    bus = open_bus()
    assert {name: sql for name, sql in schema(store).items() if name in pristine()} == pristine()
    assert bus.export_to_jsonl() == {"last_seq": 7}
    assert bus.publish("ann", {"type": "t"})["seq"] == 8
    bus.db.write("DELETE FROM messages WHERE seq = 8")
    assert bus.publish("ann", {"type": "t"})["seq"] == 9
    assert [message["seq"] for message in bus.poll("bob")["messages"]] == [7, 9]


def test_numbers_of_an_older_logs_archive_are_taken_too(store: Path, open_bus: OpenBus) -> None:
    """Where all of the log was archived, the archive alone knows them."""
    bus = open_bus()
    bus.publish("ann", {"type": "t"})
    bus.ack("ann", 1)
    assert bus.archive()["archived"] == 1
    bus.close()
    edit(store, "ALTER TABLE messages RENAME TO counted; DROP INDEX idx_messages_to_seq;")
    create = next(text for text in statements(SCHEMA) if "CREATE TABLE messages" in text)
    edit(store, create.replace(" AUTOINCREMENT", "") + "DROP TABLE counted;")
    again = open_bus()
    assert again.publish("ann", {"type": "t"})["seq"] == 2


def test_an_older_log_with_columns_of_others_is_refused(store: Path, open_bus: OpenBus) -> None:
    """Nobody said what would become of them."""
    edit(store, SCHEMA.replace(" AUTOINCREMENT", "") + "ALTER TABLE messages ADD COLUMN mine TEXT")
    with pytest.raises(SchemaMismatch, match="mine"):
        open_bus()


def test_what_is_no_database_is_corrupt(store: Path, open_bus: OpenBus) -> None:
    """And says so."""
    (store / "bus.db").write_bytes(b"no database" * 1000)
    with pytest.raises(Corrupt):
        open_bus()


@pytest.mark.parametrize("folder", ["/nonexistent/folder", "", "/etc/passwd", "\0", "/tmp/\0", 5, None])
def test_a_store_is_the_path_of_a_folder_that_exists(folder: Any) -> None:
    """An absolute one, or one in the working folder."""
    with pytest.raises(InvalidArgument):
        WorkerBus(folder)


def test_a_store_in_the_working_folder_stays_there(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after the program goes elsewhere."""
    monkeypatch.chdir(store.parent)
    with WorkerBus(store.name) as bus:
        monkeypatch.chdir("/")
        bus.publish("a", {"type": "task_done"})
    assert (store / "bus.db").exists()


def test_a_name_too_long_for_the_system_is_no_folder() -> None:
    """The system's own error is not shown raw."""
    with pytest.raises(InvalidArgument):
        WorkerBus("/" + "x" * 5000)


@pytest.mark.parametrize(
    "options",
    [
        {"unread_max": 0},
        {"unread_max": True},
        {"unread_max": "5"},
        {"deliveries_max": -1},
        {"deliveries_max": 1.5},
        {"signing_key": ""},
        {"signing_key": "abc"},
        {"signing_key": "xy"},
        {"signing_key": 5},
        {"lease_ms": 0},
        {"lease_ms": 2**63},
        {"synchronous": "OFF"},
        {"synchronous": 1},
        {"synchronous": None},
    ],
)
def test_bad_options_are_refused_and_nothing_is_made(store: Path, open_bus: OpenBus, options: dict[str, Any]) -> None:
    """Before the folder is touched."""
    with pytest.raises(InvalidArgument):
        open_bus(**options)
    assert list(store.iterdir()) == []


def test_a_file_system_without_wal_is_refused(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rather than served without its promise."""
    monkeypatch.chdir(store)  # an empty file of that name is made before SQLite is asked
    database = Database(Path(":memory:"))
    try:
        with pytest.raises(IoError, match="write-ahead"):
            database.connection()
    finally:
        database.close()


def test_a_store_that_cannot_be_written_is_a_definite_error(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing happened."""

    def fail(self: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files.Path, "mkdir", fail)
    with pytest.raises(IoError) as caught:
        WorkerBus(store)
    assert caught.value.definite


def test_git_takes_the_export_of_a_store_and_nothing_else(store: Path) -> None:
    """Seed 000 ignores the database, and reads the diffs of its export."""
    subprocess.run(["git", "init", "--quiet", store.parent], check=True)
    with WorkerBus(store) as bus:
        bus.publish("a", {"type": "task_done", "payload": "x" * 5000})
        bus.export_to_jsonl()
    subprocess.run(["git", "add", "."], cwd=store, check=True)
    added = subprocess.run(["git", "ls-files"], cwd=store, check=True, capture_output=True, text=True).stdout
    assert added.splitlines() == ["bus.jsonl"]
