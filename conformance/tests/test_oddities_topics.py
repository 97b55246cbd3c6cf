"""`busproof doctor --bus sqlite:…` on a database of `topics`: each sickness is told, and health is silent."""

import shutil
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from busproof.bus.base import Door
from busproof.bus.fleet import Fleet
from busproof.contract.topics import DB_NAME
from busproof.oddities.examine import examine

REFERENCE = f"mcp:{sys.executable} -m refbus.topics.mcp.server"
DAY_MS = 24 * 60 * 60 * 1000


@pytest.fixture(scope="module", params=[REFERENCE, "sqlite:"], ids=["reference", "participant"])
def healthy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A topic on which two talked, and one that is closed."""
    folder = tmp_path_factory.mktemp("healthy")
    fleet = Fleet([request.param], system="topics")
    doors = [fleet.door(number, folder, {}) for number in range(2)]
    _talk(*doors)
    for door in doors:
        fleet.give_back(door, retired=True)
    fleet.close()
    return folder


def _talk(alice: Door, bob: Door) -> None:
    topic = alice.call("topic_create", {"name": "work", "metadata": {"n": 1}})["topic_id"]
    for door, name in ((alice, "alice"), (bob, "bob")):
        door.call("topic_join", {"topic_id": topic, "agent_name": name})
    for n in range(3):
        item = {"content_markdown": f"message {n}", "client_message_id": f"k{n}", "metadata": {"n": n}}
        alice.call("sync", {"topic_id": topic, "outbox": [item], "wait_seconds": 0})
    keeps = {"auto_advance": False, "ack_through": 2, "wait_seconds": 0}
    bob.call("sync", {"topic_id": topic, **keeps})
    closed = alice.call("topic_create", {"name": "done"})["topic_id"]
    alice.call("topic_close", {"topic_id": closed})


@pytest.fixture
def store(healthy: Path, tmp_path: Path) -> Path:
    """A copy, to fall ill."""
    return Path(shutil.copytree(healthy, tmp_path / "store"))


def infect(store: Path, statement: str) -> None:
    """A sickness of the database."""
    with closing(sqlite3.connect(store / DB_NAME, isolation_level=None)) as db:
        db.executescript(statement)


def examined(path: Path, capsys: pytest.CaptureFixture[str], later_ms: int = 0) -> tuple[int, list[str]]:
    """Exit code, and the oddities and notes except that about SQLite's version."""
    code = examine(path, now_ms=time.time_ns() // 1_000_000 + later_ms)
    out = capsys.readouterr().out
    assert "as a topics bus" in out
    return code, [line for line in out.splitlines() if line.startswith("  ") and "WAL-reset" not in line]


def test_where_two_talked_nothing_is_odd(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The folder or the file, it is the same."""
    assert examined(store, capsys) == examined(store / DB_NAME, capsys) == (0, [])


def test_who_has_unread_messages_and_stays_away_is_a_note(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two days later. Alice, who has read all, is not told."""
    code, lines = examined(store, capsys, 2 * DAY_MS)
    assert code == 0
    (line,) = lines
    assert "bob has 1 unread messages" in line and "(work), and was last there 2 days ago" in line


SICK = {
    "another version": ("UPDATE meta SET value = '5'", "schema_version is '5', not '6'"),
    "no table": ("DROP TABLE cursors", "table cursors is missing"),
    "no index": ("DROP INDEX idx_messages_topic_reply_to", "index idx_messages_topic_reply_to is missing"),
    "a gap": ("DELETE FROM messages WHERE seq = 2", "2 messages under 2 numbers from 1 to 3"),
    "not from 1": ("DELETE FROM messages WHERE seq = 1", "2 messages under 2 numbers from 2 to 3"),
    "counter behind": ("UPDATE topic_seq SET next_seq = 2", "is at 2, and the newest message is 3"),
    "no counter": ("DELETE FROM topic_seq", "has no counter in topic_seq"),
    "a deaf reader": ("UPDATE cursors SET last_seq = 99 WHERE agent_name = 'bob'", "beyond the newest message 3"),
    "a free name": ("DELETE FROM agent_name_reservations WHERE agent_name = 'bob'", "so that anybody may take it: 1"),
    "a stranger": ("UPDATE messages SET sender = 'mallory' WHERE seq = 1", "senders who never joined: 1 (mallory on"),
    "no topic": ("DELETE FROM topics WHERE name = 'work'", "messages of topics that are gone: 3"),
    "no text": ("UPDATE messages SET content_markdown = x'ff' WHERE seq = 1", "content_markdown is no text"),
    "no object": ("UPDATE messages SET metadata_json = '[1]' WHERE seq = 1", "metadata_json is no JSON object"),
    "no JSON": ("UPDATE topics SET metadata_json = '{' WHERE name = 'work'", "metadata_json is no JSON object"),
    "milliseconds": ("UPDATE messages SET created_at = created_at * 1000", "created_at is no number of seconds"),
    "status": ("UPDATE topics SET status = 'paused' WHERE name = 'work'", "the status is neither open nor closed"),
    "closed when": ("UPDATE topics SET closed_at = NULL", "closed without a closed_at"),
    "sent too late": ("UPDATE topics SET status = 'closed', closed_at = 5", "sent after the topic was closed"),
    "journal": ("PRAGMA journal_mode = DELETE", "not a write-ahead log"),
}


@pytest.mark.parametrize("name", SICK)
def test_each_sickness_is_told(name: str, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 1 and its name; and the file stays as it was."""
    statement, says = SICK[name]
    infect(store, statement)
    before = (store / DB_NAME).read_bytes()
    code, lines = examined(store, capsys)
    assert code == 1
    assert any(says in line and line.startswith("  ODD") for line in lines), lines
    assert (store / DB_NAME).read_bytes() == before


def test_what_a_table_without_its_unique_keys_lets_in_is_told(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The missing keys, the number that two messages have, and the retry that was stored twice."""
    columns = "topic_id, seq, sender, message_type, content_markdown, client_message_id, created_at"
    infect(
        store,
        f"""
        CREATE TABLE copy AS SELECT * FROM messages; DROP TABLE messages; ALTER TABLE copy RENAME TO messages;
        INSERT INTO messages (message_id, {columns}) SELECT 'twin', {columns} FROM messages WHERE seq = 3;
        """,
    )
    _, lines = examined(store, capsys)
    for says in (
        "nothing keeps (topic_id, seq) of messages unique",
        "nothing keeps (topic_id, sender, client_message_id) of messages unique",
        "holds 4 messages under 3 numbers from 1 to 3",
        "two messages with one client_message_id",
    ):
        assert any(says in line for line in lines), (says, lines)


NOTES = {
    "two topics of one name": (
        "UPDATE topics SET name = 'work', status = 'open', closed_at = NULL",
        "2 open topics are called 'work'",
    ),
    "a reply to nothing": (
        "UPDATE messages SET reply_to = 'gone' WHERE seq = 2",
        "replies to what is not on the topic: 1",
    ),
    "a clock set back": ("UPDATE messages SET created_at = 5 WHERE seq = 2", "time goes back 1 times"),
}


@pytest.mark.parametrize("name", NOTES)
def test_what_may_be_right_is_a_note(name: str, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 0."""
    statement, says = NOTES[name]
    infect(store, statement)
    code, lines = examined(store, capsys)
    assert code == 0
    assert any(says in line and line.startswith("  note") for line in lines), lines
