"""The shell's side of the bus: look, export, rename, and remove what a person wants gone."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from refbus import cli
from refbus.kernel.clock import Clock
from refbus.kernel.errors import TopicNotFound
from refbus.topics.embedding import HashEmbedder

Join = Callable[..., Any]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Runs a command on the test's database: exit code, stdout, stderr."""

    def run_(*words: str) -> tuple[int, str, str]:
        code = cli.main(["topics", "--db", str(tmp_path / "bus.sqlite"), *words])
        output = capsys.readouterr()
        return code, output.out, output.err

    return run_


def test_topics_are_listed_as_lines_of_json(join: Join, run: Run) -> None:
    """By status."""
    alice = join("alice")
    assert json.loads(run("list")[1])["topic_id"] == alice.topic_id
    assert run("list", "--status", "closed") == (0, "", "")


def test_a_topic_is_exported_for_people(join: Join, run: Run) -> None:
    """As one Markdown text."""
    alice, bob = join("alice"), join("bob")
    question = alice.sync(outbox=[{"content_markdown": "Ready?\n", "message_type": "question"}])
    answer = {"content_markdown": "*Yes*", "message_type": "answer"}
    bob.sync(outbox=[answer | {"reply_to": question["sent"][0]["message"]["message_id"]}])
    bob.bus.topic_close(bob.topic_id, reason="done")
    code, text, _ = run("export", "lane")
    assert code == 0
    assert text == (
        f"# lane\n\nTopic `{alice.topic_id}`, created 2026-01-10 14:00:00 UTC, "
        "closed 2026-01-10 14:00:00 UTC\n\n> done\n"
        "\n## 1. alice (question)\n\n2026-01-10 14:00:00 UTC\n\n> Ready?\n"
        "\n## 2. bob (answer, reply to 1)\n\n2026-01-10 14:00:00 UTC\n\n> *Yes*\n"
    )


def test_a_topic_that_is_not_there_is_told_in_the_words_of_the_shell(join: Join, run: Run) -> None:
    """Not in those of the server's tools."""
    join("alice")
    code, _, errors = run("export", "parser")
    assert code == 1 and "no topic has the id or the name 'parser'; see: refbus topics list" in errors


def test_an_export_hides_nothing_and_turns_no_line_round(join: Join, run: Run) -> None:
    """Whatever moves a cursor, reverses a line or has no width is told by its number, on a terminal and in a file."""
    alice = join("alice")
    alice.sync("a\x1b[2J\x9b1mb\tc\u202ecba\u2066\u200b\ufeff\u2028# two\r\nthree")
    text = run("export", "lane")[1]
    assert "> a\\x1b[2J\\x9b1mb\tc\\u202ecba\\u2066\\u200b\\ufeff\n> # two\n> three\n" in text
    assert all(sign.isprintable() or sign in "\t\n" for sign in text)
    assert json.loads(run("export", "lane", "--format", "jsonl")[1])["content_markdown"].endswith(
        "\u2028# two\r\nthree"
    )


def test_a_topic_is_exported_for_programs(join: Join, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Line by line what a reader received, however long."""
    monkeypatch.setattr("refbus.topics.export.ROWS_AT_ONCE", 2)
    alice, bob = join("alice"), join("bob")
    alice.sync("1", "2\n3", "é")
    lines = run("export", alice.topic_id, "--format", "jsonl")[1].splitlines()
    assert [json.loads(line) for line in lines] == bob.sync()["received"]


def test_a_topic_is_renamed(join: Join, run: Run) -> None:
    """Its agents go on."""
    alice = join("alice")
    assert json.loads(run("rename", "lane", "road")[1])["name"] == "road"
    assert alice.sync("x")["sent"]
    assert run("rename", "lane", "other")[0] == 1


def test_a_name_of_several_topics_is_refused(join: Join, run: Run) -> None:
    """Their ids are told."""
    alice = join("alice")
    other = alice.bus.topic_create(name="lane", mode="new")["topic_id"]
    code, _, errors = run("delete", "lane", "--yes")
    assert code == 1 and other in errors and alice.topic_id in errors


def test_delete_removes_all_of_one_topic(join: Join, run: Run, tmp_path: Path) -> None:
    """And nothing of another; it asks first."""
    alice = join("alice", embedder=HashEmbedder())
    other = alice.bus.topic_create(name="other")["topic_id"]
    alice.bus.topic_join("alice", other)
    for topic_id in (alice.topic_id, other):
        alice.bus.sync(topic_id, [{"content_markdown": "needle"}], wait_seconds=0)
    assert alice.bus.messages_search("needle")["count"] == 2
    code, _, errors = run("delete", "lane")
    assert code == 1 and "--yes" in errors and alice.sync()["status"] == "empty"
    assert run("delete", "lane", "--yes")[0] == 0
    with pytest.raises(TopicNotFound):
        alice.sync()
    (result,) = alice.bus.messages_search("needle")["results"]
    assert result["topic_id"] == other
    assert alice.bus.sync(other, wait_seconds=0, include_self=True)["received"] == []
    file = sqlite3.connect(tmp_path / "bus.sqlite")
    for table in (
        "messages",
        "cursors",
        "agent_name_reservations",
        "reservation_fences",
        "topic_seq",
        "topics",
        "search_index",
        "passages",
    ):
        assert file.execute(f"SELECT count(*) FROM {table}").fetchone() == (1,), table
    file.close()


def test_wipe_empties_a_file_under_open_sessions(join: Join, run: Run, tmp_path: Path) -> None:
    """They see it with their next call, and go on."""
    alice = join("alice")
    alice.sync("a secret")
    alice.bus.messages_search("secret")
    assert run("wipe")[0] == 1
    assert run("wipe", "--yes")[0] == 0
    with pytest.raises(TopicNotFound):
        alice.sync()
    assert alice.bus.messages_search("secret")["results"] == []
    assert b"secret" not in (tmp_path / "bus.sqlite").read_bytes()
    assert join("alice").sync("1")["sent"]


def test_wipe_helps_where_the_schema_does_not_match(run: Run, tmp_path: Path, clock: Clock) -> None:
    """With anything in the file: views, triggers, full-text tables."""
    file = sqlite3.connect(tmp_path / "bus.sqlite")
    file.executescript("""
        CREATE TABLE meta (key TEXT, value TEXT);
        CREATE TABLE "odd ""name" (x);
        CREATE VIEW seen AS SELECT * FROM meta;
        CREATE VIRTUAL TABLE found USING fts5(x);
        CREATE TRIGGER copied AFTER INSERT ON meta BEGIN INSERT INTO found VALUES (new.value); END;
    """)
    file.close()
    code, _, errors = run("list")
    assert code == 1 and "DB_SCHEMA_MISMATCH" in errors and "refbus topics wipe" in errors
    assert run("wipe", "--yes")[0] == 0
    assert run("list") == (0, "", "")


def test_a_person_is_asked(join: Join, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """And anything but yes is no."""
    join("alice")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda _: "")
    assert run("delete", "lane") == (1, "", "refbus: INVALID_ARGUMENT: nothing was done\n")
    monkeypatch.setattr("builtins.input", lambda _: "Yes")
    assert run("delete", "lane")[0] == 0
    assert run("list") == (0, "", "")


def test_ctrl_c_ends_a_server_that_waits_for_its_client(tmp_path: Path) -> None:
    """As in a terminal, where nobody closes its stdin."""
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
    }
    with subprocess.Popen(
        [sys.executable, "-m", "refbus", "topics", "--db", tmp_path / "bus.sqlite", "serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as server:
        assert server.stdin and server.stdout
        server.stdin.write(json.dumps(hello).encode() + b"\n")
        server.stdin.flush()
        assert b'"result"' in server.stdout.readline()
        try:
            server.send_signal(signal.SIGINT)
            assert server.wait(30) == -signal.SIGINT
        finally:
            server.kill()
