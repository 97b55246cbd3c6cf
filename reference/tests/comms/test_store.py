"""The project's folders and file: made if missing, left alone if there, refused if somebody else's."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refbus.comms import store as stores
from refbus.comms.bus import CommsBus
from refbus.kernel.errors import InvalidArgument, SchemaMismatch

OpenBus = Callable[..., CommsBus]
SCHEMA = Path(stores.__file__).with_name("schema.sql").read_text()


def test_initialization_makes_the_seeds_tree(store: Path) -> None:
    """Folders, database in WAL mode, version; twice is once (seed: Storage Strategy)."""
    for _ in range(2):
        stores.initialize_communication_system(str(store))
    made = {str(path.relative_to(store / ".claude")) for path in (store / ".claude").rglob("*")}
    assert {"communications", "communications/messages.db", "communications/protocol_version.txt", "artifacts"} <= made
    assert (store / ".claude" / "communications" / "protocol_version.txt").read_text() == "1.0"
    with sqlite3.connect(store / ".claude" / "communications" / "messages.db") as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_every_connection_has_the_seeds_pragmas(bus: CommsBus) -> None:
    """WAL, NORMAL, 5000 ms, 64 MB (seed: SQLite Configuration)."""
    connection = bus.store.db.connection()
    pragmas = {
        name: connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("journal_mode", "synchronous", "busy_timeout", "cache_size")
    }
    assert pragmas == {"journal_mode": "wal", "synchronous": 1, "busy_timeout": 5000, "cache_size": -64000}


def test_full_synchronous_is_an_option(open_bus: OpenBus) -> None:
    """For those who fear power cuts; nothing else is."""
    assert open_bus(synchronous="FULL").store.db.connection().execute("PRAGMA synchronous").fetchone() == (2,)
    for wrong in ("OFF", "full", None):
        with pytest.raises(InvalidArgument):
            open_bus(synchronous=wrong)


@pytest.mark.parametrize("version", ["1.1", "2.0", "", "1", "\udcff"])
def test_another_version_is_refused(store: Path, version: str) -> None:
    """Before anything is touched (seed: protocol_version.txt)."""
    folder = store / ".claude" / "communications"
    folder.mkdir(parents=True)
    (folder / "protocol_version.txt").write_bytes(version.encode("utf-8", "surrogateescape"))
    with pytest.raises(SchemaMismatch) as caught:
        CommsBus(store)
    assert caught.value.definite
    assert list((store / ".claude").rglob("*")) == [folder, folder / "protocol_version.txt"]


def test_the_version_may_end_with_a_newline(store: Path) -> None:
    """As an editor or echo writes it."""
    folder = store / ".claude" / "communications"
    folder.mkdir(parents=True)
    (folder / "protocol_version.txt").write_text("1.0\n")
    with CommsBus(store):
        assert (folder / "protocol_version.txt").read_text() == "1.0\n"


def strangers_file(store: Path, schema: str) -> None:
    """A messages.db that another program made."""
    folder = store / ".claude" / "communications"
    folder.mkdir(parents=True)
    connection = sqlite3.connect(folder / "messages.db")
    connection.executescript(schema)
    connection.close()


def test_a_file_that_the_seeds_listing_made_is_joined(store: Path) -> None:
    """Its rows are messages, its tables stay as they are; ours are added."""
    strangers_file(
        store,
        SCHEMA
        + "INSERT INTO messages (id, type, version, timestamp, from_agent, to_agent, channel, payload, created_at)"
        " VALUES ('s1', 'note', '1.0', '2026-01-10T14:00:00Z', 'nim', 'bob', 'general', '{}', '2026-01-10T14:00:00Z')",
    )
    with CommsBus(store) as bus:
        assert [message["id"] for message in bus.receive_messages("bob", ["general"])["messages"]] == ["s1"]
        before = set(SCHEMA.split())
        (sql,) = bus.store.db.row("SELECT sql FROM sqlite_master WHERE name = 'messages'")
        assert set(sql.split()) <= before | {");", ")"}


def test_a_table_of_another_shape_is_somebody_elses(store: Path) -> None:
    """Refused by the columns that it lacks, and nothing is added to it."""
    strangers_file(store, "CREATE TABLE messages (id TEXT PRIMARY KEY, body TEXT)")
    with pytest.raises(SchemaMismatch, match=r"messages\.payload"):
        CommsBus(store)
    connection = sqlite3.connect(store / ".claude" / "communications" / "messages.db")
    assert connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall() == [("messages",)]
    connection.close()


@pytest.mark.parametrize("root", ["/nowhere/at/all", "/etc/passwd", "a\0b", 5, None])
def test_a_project_is_a_folder_that_exists(root: Any) -> None:
    """Named by its path."""
    with pytest.raises(InvalidArgument):
        CommsBus(root)


def test_all_that_is_declared_is_offered(bus: CommsBus) -> None:
    """METHODS are methods."""
    assert all(callable(getattr(bus, method)) for method in CommsBus.METHODS)


def test_a_dump_is_the_whole_state(bus: CommsBus, send: Callable[..., str]) -> None:
    """Every table of the seed, and SQLite's opinion."""
    bus.claim_message("bob", send())
    dump = bus.dump()
    assert dump["integrity"] == "ok"
    assert [len(dump[table]) for table in ("messages", "deliveries", "agent_status")] == [1, 1, 1]


def test_the_seeds_tables_and_indexes_are_there_to_the_letter(bus: CommsBus) -> None:
    """Any agent with SQLite bindings can participate: other tables are allowed, changed ones are not."""
    pristine = sqlite3.connect(":memory:")
    pristine.executescript(SCHEMA)
    query = "SELECT type, name, tbl_name, sql FROM sqlite_master"
    assert set(pristine.execute(query)) <= set(bus.store.db.rows(query))
    assert {row[1] for row in pristine.execute(query) if not row[1].startswith("sqlite_")} == {
        "messages",
        "channel_subscriptions",
        "agent_status",
        "dead_letter_queue",
        "idx_ready_messages",
        "idx_correlation",
        "idx_expiration",
        "idx_agent_channels",
    }
    pristine.close()


@pytest.mark.parametrize("option", ["retry_jitter", "rate_capacity", "rate_refill_per_s"])
def test_an_option_out_of_range_is_refused_when_the_bus_is_opened(tmp_path: Path, option: str) -> None:
    """And not in the first pause that it would make endless, or negative."""
    for value in (-1.0, 1e300, float("nan")):
        with pytest.raises(InvalidArgument, match=option):
            CommsBus(tmp_path, **{option: value})
