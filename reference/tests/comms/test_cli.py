"""`refbus comms …`: every command, as one would type it."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from reference.tests.test_cli import eventually

import refbus
from refbus import cli
from refbus.comms import CommsBus

Run = Callable[..., list[Any]]
M1 = "00000000-0000-4000-8000-000000000001"


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command on a project; its lines of JSON."""

    def run_(*words: str, code: int = 0) -> list[Any]:
        assert cli.main(["comms", "--project", str(tmp_path / "new" / "project"), *words]) == code
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return run_


def test_a_conversation(run: Run) -> None:
    """Send, receive, claim, respond, complete, clean up, tell all."""
    assert run("send", "--as", "alice", "--to", "bob", "--id", M1, "context.query", '{"query": "q"}') == [
        {"message_id": M1}
    ]
    (message,) = run("receive", "--as", "bob", "--limit", "1", "--wait", "5")
    (claim,) = run("claim", "--as", "bob", M1)
    assert claim["delivery_count"] == 1
    run("respond", json.dumps(message), '{"context": {}}', "--artifact", ".claude/artifacts/bob/t/r.json")
    assert run("complete", "--delivery-count", "1", M1) == [{"status": "done"}]
    (answer,) = run("receive", "--as", "alice")
    assert answer["correlation_id"] == M1
    assert answer["payload"] == {"context": {}, "artifact_path": ".claude/artifacts/bob/t/r.json"}
    assert run("cleanup") == [{"deleted": 0}]
    assert run("audit") == [{"exported": 0}]  # each command brought it up to date
    assert run("dump")[0]["integrity"] == "ok"


def test_the_options_of_a_message_arrive(run: Run) -> None:
    """Channel, priority, correlation, time to live; an option that is left out is the bus's default."""
    run(
        "send",
        "--as",
        "alice",
        "--channel",
        "urgent",
        "--priority",
        "9",
        "--correlation-id",
        "c",
        "--ttl",
        "none",
        "note",
        '{"a": 1}',
    )
    run("send", "--as", "alice", "--attempts", "2", "--ttl", "60", "note")
    urgent, plain = run("dump")[0]["messages"]
    assert (urgent["channel"], urgent["priority"], urgent["correlation_id"], urgent["expires_at"]) == (
        "urgent",
        9,
        "c",
        None,
    )
    assert (plain["channel"], plain["priority"], plain["to_agent"], plain["payload"]) == ("general", 5, None, "{}")
    assert plain["expires_at"] > plain["created_at"]
    assert [m["channel"] for m in run("receive", "--as", "bob", "--channel", "urgent", "--channel", "general")] == [
        "urgent",
        "general",
    ]


def test_subscriptions_are_what_receive_asks_for(run: Run) -> None:
    """Unless channels are named; an agent without any reads general."""
    for channel in ("general", "urgent"):
        run("send", "--as", "alice", "--to", "bob", "--channel", channel, "note")
    assert [m["channel"] for m in run("receive", "--as", "bob")] == ["general"]
    run("subscribe", "--as", "bob", "urgent")
    assert run("subscriptions", "--as", "bob") == [{"channels": ["urgent"]}]
    assert [m["channel"] for m in run("receive", "--as", "bob")] == ["urgent"]
    run("unsubscribe", "--as", "bob", "urgent")
    assert run("subscriptions", "--as", "bob") == [{"channels": []}]


def test_health_of_one_and_of_all(run: Run) -> None:
    """Counters included."""
    run("heartbeat", "--as", "alice", "active", "--task", "t1")
    run("send", "--as", "alice", "--to", "bob", "note")
    assert run("health", "bob")[0]["messages_pending"] == 1
    assert [(a["agent_id"], a["status"], a["current_task"]) for a in run("agents")] == [
        ("alice", "active", "t1"),
        ("bob", "idle", None),
    ]
    assert [bool(agent["last_heartbeat"]) for agent in run("agents")] == [True, False]


def test_a_heart_that_beats_cleans_up(run: Run, tmp_path: Path) -> None:
    """As long as a process lives; the seed asks for both."""
    project = tmp_path / "new" / "project"
    run("send", "--as", "alice", "--ttl", "0", "note")
    watched = subprocess.Popen(["sleep", "60"])
    words = ["--project", str(project), "heartbeat", "--as", "bob", "--every", "0.05", "--while", str(watched.pid)]
    beats = refbus_process(tmp_path, *words, "degraded")
    with CommsBus(project) as bus:
        first = eventually(
            lambda: [a["last_heartbeat"] for a in bus.dump()["agent_status"] if a["status"] == "degraded"]
        )
        eventually(lambda: bus.get_agent_health("bob")["last_heartbeat"] > first[0])
        assert bus.dump()["messages"] == []
    watched.kill()
    watched.wait()
    assert beats.communicate(timeout=30) == ("", "") and beats.returncode == 0


def test_a_message_that_fails_three_times_is_listed_and_redriven(run: Run, tmp_path: Path) -> None:
    """A process has no clock to set: the file says that the retry delays are over."""
    run("send", "--as", "alice", "--to", "bob", "--id", M1, "note")
    assert run("redrive", M1, code=1) == [{"redriven": False}]
    for status in ("failed", "failed", "dead"):
        assert run("claim", "--as", "bob", M1)[0]["claimed"]
        (completed,) = run("complete", "--error", "boom", M1)
        assert completed["status"] == status and ("due_at" in completed) == (status == "failed")
        with sqlite3.connect(tmp_path / "new/project/.claude/communications/messages.db") as connection:
            connection.execute("UPDATE message_deliveries SET visible_at = '2000-01-01T00:00:00Z'")
        connection.close()
    (letter,) = run("dead-letters")
    assert (letter["error"], letter["retry_count"]) == ("boom", 3)
    assert run("redrive", letter["id"]) == [{"redriven": True}]
    assert run("dead-letters") == []


def test_votes(run: Run) -> None:
    """Opened, cast, counted."""
    (vote,) = run(
        "vote",
        "initiate",
        "--as",
        "alice",
        "--option",
        "a",
        "--option",
        "b",
        "--deadline",
        "2999-01-01T00:00:00Z",
        "which?",
    )
    run("vote", "cast", "--as", "bob", "--reasoning", "because", vote["message_id"], "b")
    (tally,) = run("vote", "tally", vote["message_id"])
    assert (tally["topic"], tally["votes"], tally["winners"]) == ("which?", {"bob": "b"}, ["b"])


def test_artifacts(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """From standard input if it is too long to type."""
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"rows": [1, 2]}'))
    (put,) = run("artifact", "put", "--as", "bob", "--name", "rows.json", "t1", "-")
    assert put == {"artifact_path": ".claude/artifacts/bob/t1/rows.json"}
    assert run("artifact", "get", put["artifact_path"]) == [{"rows": [1, 2]}]


def test_an_envelope_is_judged_without_a_store(run: Run) -> None:
    """All its faults."""
    assert run("validate", "{}", code=1)[0]["valid"] is False


def test_errors_go_to_stderr_with_their_code(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And the exit status is 1."""
    CommsBus(tmp_path).close()
    for words, code in (
        (("send", "--as", "alice", "note", "{"), "INVALID_ARGUMENT"),
        (("send", "--as", "a/b", "note"), "INVALID_ARGUMENT"),
        (("complete", M1), "NOT_CLAIMED"),
        (("health", "nobody"), "NOT_FOUND"),
        (("request", "--as", "alice", "--to", "bob", "--wait", "0", "note"), "TIMEOUT"),
        (("artifact", "get", "/etc/passwd"), "INVALID_ARGUMENT"),
        (("--visibility-ms", "0", "dump"), "INVALID_ARGUMENT"),
    ):
        assert cli.main(["comms", "--project", str(tmp_path), *words]) == 1
        output = capsys.readouterr()
        assert output.err.startswith(f"refbus: {code}: ") and output.out == ""


def test_a_message_that_was_sent_is_a_success_whatever_becomes_of_the_trail(run: Run, tmp_path: Path) -> None:
    """Exit 1 would have a script send it again."""
    (tmp_path / "new" / "project" / ".claude" / "audit-trail.jsonl").mkdir(parents=True)
    assert len(run("send", "--as", "alice", "note")) == 1


def test_help_shows_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    """Enough to begin."""
    with pytest.raises(SystemExit) as caught:
        cli.main(["comms", "--help"])
    assert caught.value.code == 0
    assert "refbus comms send --as alice --to bob" in capsys.readouterr().out


def refbus_process(project: Path, *words: str) -> subprocess.Popen[str]:
    """`refbus comms …` as a process of its own, in the project's folder."""
    paths = [str(Path(refbus.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return subprocess.Popen(
        [sys.executable, "-m", "refbus", "comms", *words],
        cwd=project,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_two_processes_ask_and_answer(tmp_path: Path) -> None:
    """One waits for its answer while another finds the question; the store is in the current folder."""
    CommsBus(tmp_path).close()
    asker = refbus_process(
        tmp_path, "request", "--as", "alice", "--to", "bob", "--wait", "60", "context.query", '{"query": "q"}'
    )
    message_id, _ = refbus_process(tmp_path, "receive", "--as", "bob", "--limit", "1", "--wait", "60").communicate(
        timeout=90
    )
    answerer = refbus_process(tmp_path, "respond", message_id.strip(), '{"context": {"branch": "main"}}')
    assert json.loads(answerer.communicate(timeout=90)[0]).keys() == {"message_id"}
    reply, errors = asker.communicate(timeout=90)
    assert (asker.returncode, errors) == (0, "")
    assert json.loads(reply)["payload"] == {"context": {"branch": "main"}}
    assert (tmp_path / ".claude" / "communications" / "messages.db").exists()


def test_a_process_that_fails_says_so_on_stderr(tmp_path: Path) -> None:
    """One line, no traceback, exit 1."""
    CommsBus(tmp_path).close()
    process = refbus_process(tmp_path, "vote", "tally", "unknown")
    out, errors = process.communicate(timeout=90)
    assert (process.returncode, out) == (1, "")
    assert errors == "refbus: NOT_FOUND: there is no vote 'unknown'\n"
