"""`refbus timeline …`: every command, as one would type it, on both backends."""

from __future__ import annotations

import itertools
import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refbus import cli

Run = Callable[..., list[Any]]
REQUEST = "vlinder.main.s1.req.ada.infer.ollama.chat.1"
ANSWER = "import json, sys; print(json.dumps({'got': json.load(sys.stdin)}))"


@pytest.fixture
def run(backend: str, store: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command on the store; its lines of JSON."""

    def run_(*words: str, code: int = 0) -> list[Any]:
        assert cli.main(["timeline", "--store", str(store), *words]) == code
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return run_


def test_a_message_from_hand_to_hand(run: Run) -> None:
    """Send, fetch, give back, fetch, answer, acknowledge, look."""
    (sent,) = run("send", REQUEST, '{"q": 1}')
    assert (sent["number"], sent["duplicate"]) == (1, False)
    (taken,) = run("fetch", "request", "service=infer", "backend=ollama")
    assert taken["payload"] == {"q": 1}
    run("nak", taken["delivery"])
    (again,) = run("fetch", "request", "service=infer", "backend=ollama", "--wait", "5")
    run("reply", taken["subject"], '{"a": 1}')
    run("ack", again["delivery"])
    assert run("fetch", "request", "service=infer", "backend=ollama") == []
    assert [message["payload"] for message in run("log")] == [{"q": 1}, {"a": 1}]
    assert len(run("fetch", "request", "--group", "watch")) == 1


def test_a_command_answers_as_a_worker(run: Run, store: Path) -> None:
    """Its stdin is the payload, its stdout the answer."""
    words = ["timeline", "--store", str(store), "work", "request", "service=infer", "--once"]
    worker = threading.Thread(target=cli.main, args=([*words, "--", sys.executable, "-c", ANSWER],))
    worker.start()
    lines = run("call", "--agent", "ada", "--submission", "s1", "infer", "ollama", "chat", "[1]")
    worker.join()
    assert [line["payload"] for line in lines if "payload" in line] == [{"got": [1]}]


TELLS = "import json, os; print(json.dumps({n: v for n, v in os.environ.items() if n.startswith('REFBUS_')}))"


def test_a_commands_own_calls_belong_to_what_it_works_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """So they are recorded, replayed and forked with it, and those of two delegations are told apart."""
    run("submit", "--submission", "s1", "--wait", "0", "local", "ada", code=1)
    run("work", "--once", "invoke", "agent=ada", "--", sys.executable, "-c", TELLS)
    (answer,) = run("submit", "--submission", "s1", "local", "ada")
    worked_on = answer["payload"]
    assert not Path(worked_on.pop("REFBUS_MADE")).exists()
    assert worked_on == {
        "REFBUS_TIMELINE": "main",
        "REFBUS_SUBMISSION": "s1",
        "REFBUS_AGENT": "ada",
        "REFBUS_CALLS": "0",
    }
    run("delegate", "--submission", "s1", "--wait", "0", "--nonce", "7", "--caller", "ada", "bob", code=1)
    run("work", "--once", "delegate", "target=bob", "--", sys.executable, "-c", TELLS)
    (reply,) = run("delegate", "--submission", "s1", "--nonce", "7", "--caller", "ada", "bob")
    assert (reply["payload"]["REFBUS_NONCE"], reply["payload"]["REFBUS_CALLS"]) == ("7", "3000000")
    del reply["payload"]["REFBUS_MADE"]
    for name, value in reply["payload"].items():
        monkeypatch.setenv(name, value)
    run("call", "--wait", "0", "infer", "ollama", "chat", code=1)
    assert run("log")[-1]["key"] == {
        "type": "request",
        "timeline": "main",
        "submission": "s1",
        "agent": "bob",
        "service": "infer",
        "backend": "ollama",
        "operation": "chat",
        "sequence": 3_000_001,
    }


def test_calls_of_all_three_kinds_time_out(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """With exit 1, and with the sent messages on record."""
    run("submit", "--submission", "s1", "--wait", "0", "local", "ada", '"hi"', code=1)
    run("call", "--submission", "s1", "--wait", "0", "--agent", "ada", "infer", "ollama", "chat", code=1)
    run("delegate", "--submission", "s1", "--wait", "0", "--nonce", "1", "--caller", "ada", "bob", code=1)
    assert [message["key"]["type"] for message in run("log")] == ["invoke", "request", "delegate"]
    run("reply", "vlinder.main.s1.invoke.cli.local.ada", '"bye"', "--state", "{}")
    run("reply", "--nonce", "1", "vlinder.main.s1.delegate.ada.bob")
    (answer,) = run("submit", "--submission", "s1", "local", "ada", '"hi"')
    assert (answer["submission"], answer["payload"], answer["replayed"]) == ("s1", "bye", True)
    assert run("state", "main", "ada")[0]["number"] == 4


def test_the_record_is_shown_forked_and_verified(run: Run, capsys: pytest.CaptureFixture[str], store: Path) -> None:
    """With a picture."""
    run("send", REQUEST)
    run("reply", REQUEST)
    (forked,) = run("fork", "side", "main", "1")
    assert forked["number"] == 2
    assert [(row["timeline"], row["parent"]) for row in run("timelines")] == [("main", None), ("side", "main")]
    assert [message["number"] for message in run("log", "side", "--after", "1", "--limit", "1")] == [2]
    assert len(run("log", "main", "--submission", "s1")) == 2
    assert len(run("replay", "main", "s1")) == 2
    (verified,) = run("verify", "main")
    assert verified["ok"]
    assert run("dump")[0]["integrity"] == "ok"
    assert run("verify", "main", "--head", "0", code=1)[0]["ok"] is False
    assert cli.main(["timeline", "--store", str(store), "log", "--graph"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "|-."
    run("log", "--graph", "--submission", "s1", code=1)
    assert cli.main(["timeline", "--store", str(store), "fork", "side", "main", "2"]) == 1
    assert "ID_CONFLICT: timeline 'side' exists, and began elsewhere" in capsys.readouterr().err


def test_subjects_both_ways(run: Run) -> None:
    """A key, a filter, a group."""
    assert run("key", REQUEST)[0]["sequence"] == 1
    assert run("subject", "request", "service=infer", "backend=ollama") == [
        {"subject": "vlinder.*.*.req.*.infer.ollama.>", "consumer": "vlinder+=+=+req+=+infer+ollama+=="}
    ]
    assert run("subject", "request", "sequence=1")[0]["subject"].endswith(".1")


@pytest.mark.parametrize(
    "words",
    [
        ("send", "vlinder.x"),
        ("send", REQUEST, "{"),
        ("fetch", "request", "agent_name=a"),
        ("fetch", "request", "service=infer", "rm"),
        ("work", "request", "service=infer"),
        ("log", "nowhere"),
        ("fork", "side", "nowhere", "0"),
    ],
)
def test_what_cannot_be_meant_is_told(run: Run, words: tuple[str, ...]) -> None:
    """With exit 1."""
    run(*words, code=1)


def test_a_look_at_a_store_that_is_not_there_makes_none(tmp_path: Path) -> None:
    """A mistyped path must not look like an empty bus."""
    assert cli.main(["timeline", "--store", str(tmp_path / "typo"), "log"]) == 1
    assert list(tmp_path.iterdir()) == []


CALLS_TWICE = """
import subprocess, sys
for payload in ('"one"', '"two"'):
    subprocess.run([*sys.argv[1:], "call", "--wait", "0.1", "infer", "ollama", "chat", payload])
for _ in range(2):
    subprocess.run([*sys.argv[1:], "delegate", "--wait", "0.1", "bob", '"the same"'])
sys.exit(1)
"""


def test_the_calls_of_a_command_have_numbers_that_are_the_same_when_it_runs_again(run: Run, store: Path) -> None:
    """So each is a call of its own, and none is made twice after a crash."""
    run("submit", "--submission", "s1", "--wait", "0", "local", "ada", code=1)
    refbus = [sys.executable, "-m", "refbus", "timeline", "--store", str(store)]
    works = ["--ack-wait-ms", "500", "work", "--once", "invoke", "agent=ada", "--", sys.executable, "-c", CALLS_TWICE]
    asked = []
    for _ in range(2):
        run(*works, *refbus, code=1)
        asked.append([(m["key"].get("sequence"), m["nonce"], m["payload"]) for m in run("log")[1:]])
    assert asked[0] == [(1, None, "one"), (2, None, "two"), (None, "3", "the same"), (None, "4", "the same")]
    assert asked[1] == asked[0]


FAILS_LATE = """
import json, sys, time
is_bad = json.load(sys.stdin) == "bad"
time.sleep(1.5 * is_bad)
print(1)
sys.exit(is_bad)
"""


def test_a_message_that_fails_late_each_time_lets_others_have_their_turn(
    run: Run, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its command takes longer than the ack wait: meanwhile the message is in its hands, and then it waits. On a busy
    machine it may be due again by the next look, but not each time.
    """
    run("send", REQUEST, '"bad"')
    run("send", REQUEST.replace("s1", "s2"), '"good"')
    works = ["--ack-wait-ms", "1000", "work", "--once", "request", "service=infer"]
    command = ["timeline", "--store", str(store), *works, "--", sys.executable, "-c", FAILS_LATE]
    codes = list(itertools.takewhile(bool, (cli.main(command) for _ in range(20))))
    assert 1 <= len(codes) < 20
    capsys.readouterr()
    assert [message["payload"] for message in run("log")] == ["bad", "good", 1]


def test_a_command_that_is_not_there_takes_no_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its user is told, and the caller need not wait in vain for a worker that fails each time."""
    words = ["work", "request", "service=infer", "--", "no-such-command"]
    assert cli.main(["timeline", "--store", str(tmp_path), *words]) == 1
    assert "there is no command 'no-such-command'" in capsys.readouterr().err
