"""The file: schema 6 to the letter, shared by processes, refused if it is of another version."""

from __future__ import annotations

import multiprocessing
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from refbus.kernel import db
from refbus.kernel.errors import Corrupt, DbBusy, DbSchemaMismatch, InvalidArgument, NotOpen
from refbus.topics.bus import TopicsBus

OpenSession = Callable[..., TopicsBus]
Join = Callable[..., Any]

# The seed's tables: column, type, whether it may be null, place in the primary key.
SEED = {
    "meta": [("key", "TEXT", 0, 1), ("value", "TEXT", 1, 0)],
    "topics": [
        ("topic_id", "TEXT", 0, 1),
        ("name", "TEXT", 1, 0),
        ("created_at", "REAL", 1, 0),
        ("status", "TEXT", 1, 0),
        ("closed_at", "REAL", 0, 0),
        ("close_reason", "TEXT", 0, 0),
        ("metadata_json", "TEXT", 0, 0),
    ],
    "topic_seq": [("topic_id", "TEXT", 0, 1), ("next_seq", "INTEGER", 1, 0), ("updated_at", "REAL", 1, 0)],
    "messages": [
        ("message_id", "TEXT", 0, 1),
        ("topic_id", "TEXT", 1, 0),
        ("seq", "INTEGER", 1, 0),
        ("sender", "TEXT", 1, 0),
        ("message_type", "TEXT", 1, 0),
        ("reply_to", "TEXT", 0, 0),
        ("content_markdown", "TEXT", 1, 0),
        ("metadata_json", "TEXT", 0, 0),
        ("client_message_id", "TEXT", 0, 0),
        ("created_at", "REAL", 1, 0),
    ],
    "cursors": [
        ("topic_id", "TEXT", 1, 1),
        ("agent_name", "TEXT", 1, 2),
        ("last_seq", "INTEGER", 1, 0),
        ("updated_at", "REAL", 1, 0),
    ],
    "agent_name_reservations": [
        ("topic_id", "TEXT", 1, 1),
        ("agent_name", "TEXT", 1, 2),
        ("reclaim_token", "TEXT", 1, 0),
        ("created_at", "REAL", 1, 0),
        ("last_claimed_at", "REAL", 1, 0),
    ],
}
INDEXES = {
    "idx_topics_name_status_created_at": ("topics", 0, 0, ["name", "status", "created_at"]),
    "idx_messages_topic_seq_unique": ("messages", 1, 0, ["topic_id", "seq"]),
    "idx_messages_topic_sender_client_id_unique": ("messages", 1, 1, ["topic_id", "sender", "client_message_id"]),
    "idx_messages_topic_seq": ("messages", 0, 0, ["topic_id", "seq"]),
    "idx_messages_topic_reply_to": ("messages", 0, 0, ["topic_id", "reply_to"]),
}


def test_the_tables_are_the_seeds(open_session: OpenSession, tmp_path: Path) -> None:
    """Column by column, index by index, in WAL mode."""
    open_session().topic_list()
    file = sqlite3.connect(tmp_path / "bus.sqlite")
    for table, columns in SEED.items():
        actual = file.execute('SELECT name, type, "notnull", pk FROM pragma_table_info(?)', (table,)).fetchall()
        assert actual == columns
    for index, (table, unique, partial, columns) in INDEXES.items():
        listed = file.execute('SELECT "unique", partial FROM pragma_index_list(?) WHERE name = ?', (table, index))
        assert listed.fetchone() == (unique, partial)
        named = file.execute("SELECT name FROM pragma_index_info(?)", (index,)).fetchall()
        assert [name for (name,) in named] == columns
    assert file.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone() == ("6",)
    assert file.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    file.close()


@pytest.mark.parametrize(
    "made",
    [
        "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)",
        "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT); INSERT INTO meta VALUES ('schema_version', '7')",
        "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT); INSERT INTO meta VALUES ('schema_version', x'36')",
        "CREATE TABLE meta (x)",
        "CREATE TABLE topics (x)",
    ],
)
def test_another_schema_is_refused_and_left_as_it_is(open_session: OpenSession, tmp_path: Path, made: str) -> None:
    """Missing or mismatched, with the way out."""
    file = sqlite3.connect(tmp_path / "bus.sqlite", isolation_level=None)
    file.executescript(made)
    before = file.execute("SELECT * FROM sqlite_master").fetchall()
    bus = open_session()
    for _ in range(2):
        with pytest.raises(DbSchemaMismatch, match="Wipe it"):
            bus.topic_create(name="x")
    assert file.execute("SELECT * FROM sqlite_master").fetchall() == before
    file.close()


def test_a_schema_that_changes_under_an_open_session_is_seen(open_session: OpenSession, tmp_path: Path) -> None:
    """By the next call; a ping asks nobody (B14)."""
    bus = open_session()
    topic_id = bus.topic_create(name="x")["topic_id"]
    bus.topic_join("alice", topic_id)
    with sqlite3.connect(tmp_path / "bus.sqlite") as file:
        file.execute("UPDATE meta SET value = '7' WHERE key = 'schema_version'")
    file.close()
    for call in (
        bus.topic_list,
        bus.topic_create,
        lambda: bus.sync(topic_id, wait_seconds=0),
        lambda: bus.cursor_reset(topic_id),
    ):
        with pytest.raises(DbSchemaMismatch):
            call()
    assert bus.ping()["ok"] is True


def test_a_file_that_is_no_database_is_corrupt(open_session: OpenSession, tmp_path: Path) -> None:
    """And stays what it is."""
    (tmp_path / "bus.sqlite").write_bytes(b"not a database, whatever it is" * 100)
    with pytest.raises(Corrupt):
        open_session().topic_list()
    assert (tmp_path / "bus.sqlite").read_bytes().startswith(b"not a database")


def test_a_lock_held_for_too_long_is_db_busy(
    open_session: OpenSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only after the whole time-out, and nothing has happened; readers do not notice (B1)."""
    bus = open_session()
    topic_id = bus.topic_create(name="x")["topic_id"]
    monkeypatch.setattr(db, "BUSY_TIMEOUT_MS", 50)
    holder = sqlite3.connect(tmp_path / "bus.sqlite", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    other = open_session()
    assert other.topic_list()["topics"]
    with pytest.raises(DbBusy) as caught:
        other.topic_join("alice", topic_id)
    assert caught.value.code == "DB_BUSY" and caught.value.definite
    holder.execute("COMMIT")
    holder.close()
    other.topic_join("alice", topic_id)


def test_a_wait_that_cannot_get_the_lock_still_tells_what_it_sent(
    join: Join, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lost lock loses no reply."""
    monkeypatch.setattr(db, "BUSY_TIMEOUT_MS", 50)
    bob = join("bob")
    call = bob.bus.begin_sync(bob.topic_id, [{"content_markdown": "x"}], wait_seconds=1)
    holder = sqlite3.connect(tmp_path / "bus.sqlite", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    call.receive()
    holder.execute("ROLLBACK")
    holder.close()
    assert call.reply["status"] == "timeout" and len(call.reply["sent"]) == 1


@pytest.mark.parametrize("store", ["", "a\0b", 5, None])
def test_a_store_is_a_path(store: Any) -> None:
    """Of a file, or of its folder."""
    with pytest.raises(InvalidArgument):
        TopicsBus(store)


def test_a_folder_holds_the_file_under_its_usual_name(tmp_path: Path) -> None:
    """And a file's folder is made."""
    with TopicsBus(tmp_path) as bus:
        bus.topic_create(name="x")
    assert (tmp_path / "agent_bus.sqlite").exists()
    (tmp_path / "link").symlink_to(tmp_path / "agent_bus.sqlite")
    with TopicsBus(tmp_path / "link") as bus:
        assert bus.store.path.name == "agent_bus.sqlite" and len(bus.topic_list()["topics"]) == 1
    with TopicsBus(tmp_path / "deep" / "down" / "bus.sqlite") as bus:
        assert bus.topic_list() == {"topics": []}
    with pytest.raises(NotOpen):
        bus.topic_list()
    with pytest.raises(InvalidArgument):
        TopicsBus(tmp_path, synchronous="OFF")


def test_a_session_can_be_closed_under_its_threads(open_session: OpenSession) -> None:
    """They are told; nothing crashes."""
    bus = open_session()
    bus.topic_create(name="x")
    started = threading.Barrier(5)

    def work() -> int:
        started.wait()
        calls = 0
        with pytest.raises(NotOpen):
            while calls := calls + 1:
                bus.topic_create(name="y", mode="new")
        return calls

    with ThreadPoolExecutor(4) as pool:
        results = [pool.submit(work) for _ in range(4)]
        started.wait()
        threading.Event().wait(0.05)
        bus.close()
        assert all(result.result(timeout=20) for result in results)


def test_topic_create_reuses_also_in_a_race(tmp_path: Path) -> None:
    """Eight processes that open an empty file at once agree on one topic (B2)."""
    with _processes(4) as pool:
        topic_ids = list(pool.map(_create, [tmp_path / "bus.sqlite"] * 8))
    assert len(topic_ids) == 8 and len(set(topic_ids)) == 1


def test_many_writers_leave_dense_numbers_and_readers_that_saw_all(tmp_path: Path) -> None:
    """No lost, doubled or skipped message."""
    with _processes(3) as pool:
        sent = list(pool.map(_talk, [tmp_path / "bus.sqlite"] * 3, "abc"))
    with TopicsBus(tmp_path / "bus.sqlite") as bus:
        topic_id = bus.topic_join("reader", name="lane")["topic_id"]
        pages = [bus.sync(topic_id, wait_seconds=0)]
        while pages[-1]["has_more"]:
            pages.append(bus.sync(topic_id, wait_seconds=0))
    received = [message for page in pages for message in page["received"]]
    assert [message["seq"] for message in received] == list(range(1, 151))
    for name, (mine, others) in zip("abc", sent, strict=True):
        assert [m["seq"] for m in received if m["sender"] == name] == mine
        assert others == sorted(set(others)) and not set(others) & set(mine)


def _processes(number: int) -> ProcessPoolExecutor:
    """A process that dies is told at once; multiprocessing's Pool would start others and wait for ever."""
    return ProcessPoolExecutor(number, multiprocessing.get_context("spawn"))


def _create(file: Path) -> str:
    with TopicsBus(file) as bus:
        return str(bus.topic_create(name="lane")["topic_id"])


def _talk(file: Path, name: str) -> tuple[list[int], list[int]]:
    """Send 50 messages, a few at a time, and read along."""
    mine, others = [], []
    with TopicsBus(file) as bus:
        topic_id = bus.topic_create(name="lane")["topic_id"]
        bus.topic_join(name, topic_id)
        for _ in range(10):
            reply = bus.sync(topic_id, [{"content_markdown": "x"}] * 5, wait_seconds=0)
            mine += [record["message"]["seq"] for record in reply["sent"]]
            others += [message["seq"] for message in reply["received"]]
    return mine, others
