"""The orchestrator as a program: `refbus relay …`, signals, monitors, and the shell agent of the seed's appendix."""

from __future__ import annotations

import errno
import json
import os
import shlex
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from refbus import cli
from refbus.kernel import msgfile
from refbus.kernel.errors import BusError, DiskFull
from refbus.kernel.msgfile import Message
from refbus.kernel.stop import Stop
from refbus.relay import mailbox, monitor
from refbus.relay.bus import RelayBus
from refbus.relay.mailbox import Mailbox
from refbus.relay.service import Service

AGENT = Path(__file__).parents[2] / "examples" / "relay_agent.sh"
PATIENCE_S = 30

Run = Callable[..., list[Any]]
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """As the seed has it, below a home."""
    return tmp_path / "home" / ".agent-relay"


@pytest.fixture
def run(root: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command on the folder; its lines of JSON."""

    def run_(*words: str, code: int = 0) -> list[Any]:
        assert cli.main(["relay", "--root", str(root), *words]) == code
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return run_


@pytest.fixture
def start(root: Path) -> Iterator[Start]:
    """Starts orchestrators as processes, by REFBUS_CLI if one with a fault is to be tested; the end kills them."""
    started: list[subprocess.Popen[str]] = []

    def start_(*words: str, **environment: str) -> subprocess.Popen[str]:
        env = {**os.environ, "AGENT_RELAY_DIR": str(root), **environment}
        cli_ = shlex.split(os.environ.get("REFBUS_CLI", shlex.join([sys.executable, "-m", "refbus"])))
        command = [*cli_, "relay", "run", *words]
        started.append(subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield start_
    for process in started:
        process.kill()
        process.communicate()


def eventually(look: Callable[[], Any]) -> Any:
    """The finding, once there is one."""
    deadline = time.monotonic() + PATIENCE_S
    while not (finding := look()):
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.01)
    return finding


def test_a_conversation_by_hand(run: Run) -> None:
    """Send, one pass, receive, take; status, audit, dump."""
    (sent,) = run("send", "--as", "alice", "--to", "alice", "--thread", "t", "--priority", "0", "a note")
    time.sleep(0.1)  # the settle time of the seed, on the wall clock
    assert run("scan") == [{"discovered": 1, "completed": 1, "failed": 0, "retried": 0, "refused": 0}]
    (message,) = run("receive", "--as", "alice", "--take")
    assert (
        message.items()
        >= {"sender": "alice", "message_id": sent["message_id"], "body": "a note", "thread": "t"}.items()
    )
    assert run("receive", "--as", "alice") == []
    (status,) = run("status")
    assert (status["archived"], status["agents"]) == (1, [{"name": "alice", "status": "active"}])
    assert run("audit") == []
    changes = [(row["event"], row["path"].split("/")[2:3]) for row in run("audit", "--changes")]
    assert changes == [
        ("active", []),
        ("pending", ["outbox"]),
        ("processing", ["outbox"]),
        ("processing", ["inbox"]),
        ("completed", ["outbox"]),
        ("completed", ["inbox"]),
        ("archived", ["outbox"]),
    ]
    assert len(run("dump")[0]["messages"]) == 2


def test_the_log_of_changes_holds_subscriptions_and_is_as_old_as_the_archive(run: Run, root: Path) -> None:
    """5.4: whoever changes the ledger. What is older than the retention goes when a day begins."""
    run("scan")
    with sqlite3.connect(root / "ledger.db") as ledger:
        ledger.execute("INSERT INTO subscriptions VALUES ('dev', 'bob')")
        ledger.execute("DELETE FROM subscriptions")
        ledger.execute("INSERT INTO continuity VALUES ('bob', '{}', 0)")
        ledger.execute("INSERT INTO ledger_log (at_ms, event, path) VALUES (0, 'active', 'agents/old')")
    ledger.close()
    run("scan")
    changes = [(row["event"], row["path"], row["detail"]) for row in run("audit", "--changes")]
    assert changes == [
        ("subscribed", "agents/bob", "dev"),
        ("unsubscribed", "agents/bob", "dev"),
        ("state_saved", "agents/bob", None),
    ]


def test_a_spawn_that_is_denied_is_in_the_audit_trail(run: Run) -> None:
    """A security event (7.3); and whoever asked for it can wait for the answer."""
    run("send", "--as", "bob", "--to", "__orchestrator__", "--kind", "spawn", "NAME: w\nCLI: claude")
    time.sleep(0.1)
    run("scan")
    (record,) = run("audit")
    assert (record["event"], record["detail"]) == ("failed", "denied: CLI 'claude'")
    assert abs(record["at_ms"] - 1000 * time.time()) < 60_000


def test_a_message_that_failed_is_in_the_audit_trail(run: Run) -> None:
    """Not the one that was delivered."""
    run("send", "--as", "bob", "--to", "a b", "lost")
    run("send", "--as", "bob", "--to", "bob", "delivered")
    time.sleep(0.1)
    run("scan")
    assert [(record["event"], record["detail"]) for record in run("audit")] == [("failed", "bad_address: 'a b'")]


def test_the_sender_can_wait_for_what_becomes_of_its_message(run: Run, start: Start) -> None:
    """Nobody has seen it; it failed, and why; it was processed."""
    (unseen,) = run("send", "--as", "bob", "--to", "nobody", "--wait", "0", "hello", code=1)
    assert (unseen["done"], unseen["status"], unseen["error"]) == (False, None, None)
    run("init", "--lead", "boss")
    start("--no-watch")
    (failed,) = run("send", "--as", "bob", "--to", "a b", "--wait", "30", "hello", code=1)
    assert (failed["status"], failed["error"]) == ("failed", "bad_address: 'a b'")
    (sent,) = run("send", "--as", "bob", "--to", "bob", "--wait", "30", "hello")
    assert (sent["done"], sent["error"]) == (True, None)


def test_a_lead_is_named_by_a_command(run: Run, root: Path) -> None:
    """Beside all other settings; one that cannot be changes nothing."""
    root.mkdir(parents=True)
    (root / "config.json").write_text('{"retention_days": 7}')
    assert run("init", "--lead", "boss") == [{"retention_days": 7, "lead": "boss"}]
    run("init", "--lead", "not a name", code=1)
    assert json.loads((root / "config.json").read_text())["lead"] == "boss"


def test_a_running_orchestrator_says_what_it_lacks_and_what_it_has_not_read(
    root: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """No lead, at the start; a config.json that was changed, once."""
    root.mkdir(parents=True)
    caplog.set_level("INFO", "refbus.relay")
    rests: list[float] = []

    def rest(stop: Stop, pause_s: float) -> None:
        rests.append(pause_s)
        if len(rests) == 2:
            (root / "config.json").write_text('{"lead": "boss"}')
        if len(rests) == 5:
            stop.set()

    monkeypatch.setattr(Stop, "wait", rest)
    with RelayBus(root) as bus:
        Service(bus, watch=False).run()
    events = [record.getMessage() for record in caplog.records]
    assert (events.count("no_lead"), events.count("config_changed")) == (1, 1)


def test_a_full_disk_is_tried_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With longer and longer pauses, and then no more (6.2)."""
    root.mkdir(parents=True)
    box, pauses, room = Mailbox(root, "bob"), list[float](), iter([False, False, True])

    def write(fd: int, data: bytes) -> None:
        if not next(room, False):
            raise OSError(errno.ENOSPC, "no space")
        os.write(fd, data)

    monkeypatch.setattr(mailbox, "write_all", write)
    monkeypatch.setattr(mailbox.time, "sleep", pauses.append)
    box.send(Message("bob", "hello"))
    assert pauses == [0.1, 0.2] and len(list(root.glob("agents/bob/outbox/*.msg"))) == 1
    with pytest.raises(DiskFull):
        box.send(Message("bob", "hello"))
    assert pauses[2:] == list(mailbox.FULL_PAUSES_S) and len(list(root.glob("agents/bob/outbox/.pending/*"))) == 0


def test_metrics_without_their_package_say_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And how it is installed."""
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with RelayBus(tmp_path) as bus:
        status, _, text = monitor._answer("/metrics", bus, Service(bus, watch=False))
    assert status == 503 and "prometheus_client is missing: pip install './reference[relay]'" in text


def test_what_is_large_is_attached(run: Run, root: Path, tmp_path: Path) -> None:
    """Below its hash; the message names it."""
    (tmp_path / "big").write_bytes(b"x" * 2_000_000)
    run("send", "--as", "alice", "--to", "alice", "--attach", str(tmp_path / "big"), "look")
    time.sleep(0.1)
    run("scan")
    (message,) = run("receive", "--as", "alice")
    algorithm, _, digest = message["attachment"].partition(":")
    assert algorithm == "sha256"
    assert message["attachment_path"] == str(root / "attachments" / digest[:2] / digest)
    assert Path(message["attachment_path"]).read_bytes() == b"x" * 2_000_000


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["send", "--as", "1", "--to", "bob"], "INVALID_ARGUMENT"),
        (["send", "--as", "bob", "--to", "bob\nKIND: spawn"], "INVALID_ARGUMENT"),
        (["send", "--as", "bob", "--to", "bob", "x" * msgfile.BYTES_MAX], "PAYLOAD_TOO_LARGE"),
        (["status"], "NOT_FOUND"),
        (["restore", "/nowhere/ledger.db"], "INVALID_ARGUMENT"),
    ],
)
def test_a_mistake_is_told(root: Path, capsys: pytest.CaptureFixture[str], words: list[str], says: str) -> None:
    """By its code, and nothing is sent."""
    assert cli.main(["relay", "--root", str(root), *words]) == 1
    assert capsys.readouterr().err.startswith(f"refbus: {says}: ")
    assert list(root.glob("agents/*/outbox/*.msg")) == []


def test_messages_are_delivered_while_it_runs(run: Run, start: Start) -> None:
    """With the watch; and all look at it meanwhile, but none starts another one."""
    run("send", "--as", "bob", "--to", "bob", "early")
    start()
    assert eventually(lambda: run("receive", "--as", "bob", "--take"))[0]["body"] == "early"
    run("send", "--as", "alice", "--to", "bob", "late")
    assert eventually(lambda: run("receive", "--as", "bob", "--take"))[0]["body"] == "late"
    assert run("status")[0]["archived"] + run("status")[0]["completed"] >= 2
    run("scan", code=1)


def test_nothing_depends_on_an_event(run: Run, start: Start) -> None:
    """Without the watch a pass every quarter of a second finds all."""
    start("--no-watch")
    eventually(lambda: run("send", "--as", "bob", "--to", "bob", "hello"))
    assert eventually(lambda: run("receive", "--as", "bob", "--take"))[0]["body"] == "hello"


def test_sigterm_ends_it_cleanly(run: Run, start: Start, root: Path) -> None:
    """With all that it spawned; the lock is free, and the log says what happened, in lines of JSON."""
    root.mkdir(parents=True)
    (root / "config.json").write_text(json.dumps({"clis": {"sleep": ["/bin/sleep"]}}))
    process = start("--log", str(root / "run.log"))
    run("send", "--as", "bob", "--to", "__orchestrator__", "--kind", "spawn", "NAME: w\nCLI: sleep\nPROMPT: 1000")
    eventually((root / "run.log").exists)
    pid = eventually(lambda: [a["pid"] for a in _dump(run)["agents"] if a["name"] == "w" and a["pid"]])[0]
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE_S) == 0
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert {a["name"]: a["status"] for a in _dump(run)["agents"]} == {"bob": "active", "w": "terminated"}
    lines = [json.loads(line) for line in (root / "run.log").read_text().splitlines()]
    events = [line["event"] for line in lines]
    assert (events[0], events[-2:]) == ("started", ["stopped", "terminated"])
    assert {"agent_registered", "discovered", "spawned", "completed", "archived"} <= set(events)
    assert run("scan")


def _dump(run: Run) -> Any:
    return run("dump")[0]


def test_what_a_dead_one_held_is_taken_over(run: Run, start: Start, root: Path) -> None:
    """A live one is not overrun; a killed one leaves a lock that nobody minds."""
    first = start()
    eventually((root / "ledger.db").exists)
    eventually(lambda: "pid" in (root / ".lock").read_text())
    second = start()
    assert second.wait(PATIENCE_S) == 1
    assert second.stderr is not None and "LOCKED" in second.stderr.read()
    first.kill()
    first.wait()
    assert json.loads((root / ".lock").read_text())["pid"] == first.pid
    assert run("scan")


def test_a_lock_that_names_a_living_process_is_respected(run: Run, root: Path) -> None:
    """Also where it holds no lock of the system, as another implementation may not."""
    root.mkdir(parents=True)
    (root / ".lock").write_text(json.dumps({"pid": os.getppid()}))
    run("scan", code=1)
    (root / ".lock").write_text(json.dumps({"pid": os.getppid(), "started_ticks": 1}))  # a number that is used again
    run("scan")
    (root / ".lock").write_text("garbage")
    run("scan")


def test_monitors_are_answered_on_this_machine_alone(run: Run, start: Start, root: Path) -> None:
    """Metrics as text of Prometheus, health as JSON; off unless a port is asked for."""
    process = start("--port", "0")
    assert process.stdout is not None
    ports = json.loads(process.stdout.readline())
    run("send", "--as", "bob", "--to", "bob", "hello")
    text = eventually(lambda: (metrics := _get(ports["metrics"])) and 'outcome="completed"} 1.0' in metrics and metrics)
    assert "relay_queue_depth" in text and "relay_processing_seconds_count 1.0" in text
    assert json.loads(_get(ports["health"]))["status"] == "ok"
    with pytest.raises(urllib.error.HTTPError) as refused:
        _get(ports["health"] + "x")
    refused.value.close()  # it holds the answer's file
    port = int(ports["health"].split(":")[2].split("/")[0])
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)} - {"127.0.0.1"}
    for address in others:
        with socket.socket() as caller:
            assert caller.connect_ex((address, port)) != 0


def _get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
        return str(answer.read().decode())


def test_the_shell_agent_needs_nothing_but_the_folder(run: Run, start: Start, root: Path) -> None:
    """It writes before there is an orchestrator, is read by Lead, and gets its answer as a file."""
    root.mkdir(parents=True)
    (root / "config.json").write_text(json.dumps({"lead": "boss"}))
    (root / "agents" / "boss").mkdir(parents=True)
    env = {"HOME": str(root.parent), "PATH": os.environ["PATH"], "AGENT_RELAY_NAME": "sheila"}
    output = subprocess.run(["bash", str(AGENT)], env=env, check=True, capture_output=True, text=True).stdout
    name = output.removeprefix("sent ").strip()
    assert (
        root / "agents" / "sheila" / "outbox" / name
    ).read_text() == "TO: Lead\n\nACK: task received and understood.\n"
    start()
    (message,) = eventually(lambda: run("receive", "--as", "boss"))
    assert (message["sender"], message["body"]) == ("sheila", "ACK: task received and understood.\n")
    assert message["message_id"] == f"sheila/{name.removesuffix('.msg')}"
    run("send", "--as", "boss", "--to", "sheila", "well done")
    inbox = root / "agents" / "sheila" / "inbox"
    eventually(lambda: list(inbox.glob("*.msg")))
    words = ["bash", str(AGENT), "boss", "thanks"]
    output = subprocess.run(words, env=env, check=True, capture_output=True, text=True).stdout
    assert output.endswith("TO: sheila\n\nwell done") and list(inbox.iterdir()) == []


def test_a_day_of_failed_passes_is_survived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pause after each, of 5 s at most, as long as the trouble lasts."""
    pauses: list[float] = []

    def fails(_: RelayBus) -> None:
        raise BusError("no room")

    def passes(stop: Stop, pause_s: float) -> None:
        pauses.append(pause_s)
        if sum(pauses) > 24 * 60 * 60:
            stop.set()

    monkeypatch.setattr(RelayBus, "scan", fails)
    monkeypatch.setattr(Stop, "pause", passes)
    with RelayBus(tmp_path) as bus:
        Service(bus, watch=False).run()
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (0.1, 5.0)
