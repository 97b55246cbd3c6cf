"""The file: schema 6 to the letter, shared by processes, refused if it is of another version."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from refbus.kernel import db
from refbus.kernel.errors import Corrupt, DbSchemaMismatch, InvalidArgument, NotOpen
from refbus.topics.bus import TopicsBus

OpenSession = Callable[..., TopicsBus]
Join = Callable[..., Any]


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


def test_a_file_that_is_no_database_is_corrupt(open_session: OpenSession, tmp_path: Path) -> None:
    """And stays what it is."""
    (tmp_path / "bus.sqlite").write_bytes(b"not a database, whatever it is" * 100)
    with pytest.raises(Corrupt):
        open_session().topic_list()
    assert (tmp_path / "bus.sqlite").read_bytes().startswith(b"not a database")


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
