"""Another program's value in the place of a whole number or a time is passed over, and hides nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refbus.kernel.errors import InvalidArgument
from refbus.kernel.rules import limit as limits
from refbus.topics.embedding import HashEmbedder
from refbus.topics.web import render

Join = Callable[..., Any]
Strange = Callable[..., None]


@pytest.fixture
def strange(tmp_path: Path) -> Strange:
    """One statement by another program."""

    def run(sql: str, *values: object) -> None:
        file = sqlite3.connect(tmp_path / "bus.sqlite")
        with file:
            file.execute(sql, values)
        file.close()

    return run


@pytest.mark.parametrize("column", ["sender", "message_type", "content_markdown"])
def test_a_text_that_is_null_stops_nobody(join: Join, strange: Strange, column: str) -> None:
    """Where another program made the table without NOT NULL: it is read as an empty text, also by a waiting sync."""
    alice, bob = join("alice"), join("bob")
    (sql,) = alice.bus.store.db.row("SELECT sql FROM sqlite_master WHERE name = 'messages'")
    strange("DROP TABLE messages")
    strange(sql.replace(f"{column} TEXT NOT NULL", f"{column} TEXT"))
    strange(INSERT, "odd", alice.topic_id, 1)
    strange(f"UPDATE messages SET {column} = NULL")
    assert [message[column] for message in bob.sync(wait_seconds=1)["received"]] == [""]
    alice.sync("needle")
    hits = {hit["seq"]: hit for hit in alice.bus.messages_search("needle", mode="fts")["results"]}
    assert hits.keys() == ({2} if column == "content_markdown" else {1, 2})
    assert column == "content_markdown" or hits[1][column] == ""
    assert [shown.message[column] == "" for shown in alice.bus.page(alice.topic_id)] == [True, False]
    assert alice.bus.voices(alice.topic_id) == {
        "senders": ["alice"] if column == "sender" else ["alice", "eve"],
        "types": ["message"] if column == "message_type" else ["message", "question"],
    }


def test_a_message_without_an_id_stops_no_search(join: Join, strange: Strange) -> None:
    """Schema 6 allows NULL there. Nothing can lead to it by meaning; later messages are found."""
    alice = join("alice", embedder=HashEmbedder())
    strange(INSERT, None, alice.topic_id, 1)
    alice.sync("migrate tables")
    for mode in ("semantic", "hybrid"):
        assert [hit["seq"] for hit in alice.bus.messages_search("migrate", mode=mode)["results"]] == [2]


INSERT = "INSERT INTO messages VALUES (?, ?, ?, 'eve', 'question', NULL, 'odd needle', NULL, NULL, 0)"


@pytest.mark.parametrize("seq", ["abc", b"x", 0.5, 7.5, ""])
def test_a_message_whose_seq_is_no_whole_number_is_passed_over(join: Join, strange: Strange, seq: object) -> None:
    """By readers, senders, searches and exports; the next number is the next whole one."""
    alice, bob = join("alice"), join("bob")
    alice.sync("needle one")
    strange(INSERT, "odd", alice.topic_id, seq)
    strange(INSERT, "m7", alice.topic_id, 7)
    assert bob.seqs() == [1, 7]
    assert [record["message"]["seq"] for record in alice.sync("needle two")["sent"]] == [8]
    assert bob.seqs() == [8] and bob.seqs() == []
    for mode in ("fts", "hybrid"):
        hits = alice.bus.messages_search("needle", mode=mode)["results"]
        assert sorted(hit["seq"] for hit in hits) == [1, 7, 8]
    assert [message["seq"] for message in alice.bus.messages(alice.topic_id)] == [1, 7, 8]
    assert [entry.message["seq"] for entry in alice.bus.page(alice.topic_id)] == [1, 7, 8]
    assert [entry.message["seq"] for entry in alice.bus.page(alice.topic_id, after=1)] == [7, 8]
    assert [message["seq"] for message in alice.bus.unanswered(alice.topic_id)] == [7]
    assert alice.bus.overview(alice.topic_id)[0]["newest_seq"] == 8


@pytest.mark.parametrize("created_at", [float("inf"), float("-inf"), "abc", "", b"x", 2**53, -(10**11), 2**31])
def test_a_time_that_is_none_is_told_as_a_number(join: Join, strange: Strange, created_at: object) -> None:
    """The schema of the tools says so, and the official client ends a session over anything else."""
    alice, bob = join("alice"), join("bob")
    strange(INSERT, "odd", alice.topic_id, 1)
    strange("UPDATE messages SET created_at = ?", created_at)
    alice.sync("needle")
    rows = [
        *bob.sync()["received"],
        *alice.bus.messages_search("needle", mode="fts")["results"],
        *alice.bus.messages(alice.topic_id),
    ]
    assert [type(row["created_at"]) for row in rows] == [float] * 6
    assert [row["created_at"] for row in rows if row["seq"] == 1] == [created_at if created_at == 2**31 else 0.0] * 3
    assert "odd needle" in "".join(alice.bus.export_markdown(alice.topic_id))
    assert alice.bus.overview(alice.topic_id)[0]["active_at"] > 1.0


def test_a_time_that_is_none_stands_on_the_page(join: Join, strange: Strange) -> None:
    """The page writes dates, of which a stranger's number may be none."""
    alice = join("alice")
    strange(INSERT, "odd", alice.topic_id, 1)
    for created_at in (2**53, -(10**11), float("inf"), "abc"):
        strange("UPDATE messages SET created_at = ?", created_at)
        assert render.time(alice.bus.overview(alice.topic_id)[0]["active_at"]) == "1970-01-01 00:00:00"


def test_an_id_that_is_null_stops_nobody(join: Join, strange: Strange) -> None:
    """A primary key of text may be NULL in SQLite."""
    alice, bob = join("alice"), join("bob")
    strange(INSERT, None, alice.topic_id, 1)
    alice.sync("needle")
    assert [message["message_id"] == "" for message in bob.sync()["received"]] == [True, False]


@pytest.mark.parametrize("column", ["message_id", "sender", "message_type", "content_markdown"])
def test_what_is_stored_as_a_blob_is_shown_as_text(join: Join, strange: Strange, column: str) -> None:
    """By readers, searches and the page alike: no reply that is JSON breaks of it."""
    alice, bob = join("alice"), join("bob")
    alice.sync("needle one")
    strange(INSERT, "odd", alice.topic_id, 2)
    strange(f"UPDATE messages SET {column} = CAST('needle' AS BLOB) WHERE seq = 2")
    (_, read) = bob.sync()["received"]
    (hit,) = [result for result in alice.bus.messages_search("needle", mode="fts")["results"] if result["seq"] == 2]
    shown = [read, *([] if column == "content_markdown" else [hit]), alice.bus.page(alice.topic_id)[1].message]
    assert [message[column] for message in shown] == ["needle"] * len(shown)
    voices = alice.bus.voices(alice.topic_id)
    assert column not in ("sender", "message_type") or "needle" in voices["senders"] + voices["types"]


@pytest.mark.parametrize("newest", [limits.INT64_MAX, limits.INT64_MAX - 1])
def test_a_topic_without_a_number_left_is_read_and_refuses_what_is_new(
    join: Join, strange: Strange, newest: int
) -> None:
    """Definitely, and says why."""
    alice, bob = join("alice"), join("bob")
    strange(INSERT, "last", alice.topic_id, newest)
    with pytest.raises(InvalidArgument, match="no number left"):
        alice.sync("one more")
    assert bob.seqs() == [newest]
    assert bob.seqs() == []


def test_a_counter_or_a_cursor_that_is_no_number_counts_as_none(join: Join, strange: Strange) -> None:
    """So its reader begins at the first message, as one that never synced."""
    alice, bob = join("alice"), join("bob")
    alice.sync("one")
    bob.sync()
    strange("UPDATE topic_seq SET next_seq = 'abc'")
    strange("UPDATE cursors SET last_seq = x'00' WHERE agent_name = 'bob'")
    assert [record["message"]["seq"] for record in alice.sync("two")["sent"]] == [2]
    assert bob.seqs(wait_seconds=1) == [1, 2]
    assert bob.seqs() == []


def test_a_cursor_without_a_time_is_nobodys_presence(join: Join, strange: Strange) -> None:
    """The others are shown."""
    alice, bob = join("alice"), join("bob")
    alice.sync()
    bob.sync()
    strange("UPDATE cursors SET updated_at = 'now' WHERE agent_name = 'bob'")
    peers = alice.bus.topic_presence(alice.topic_id)["peers"]
    assert [peer["agent_name"] for peer in peers] == ["alice"]
