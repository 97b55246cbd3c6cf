"""`refbus worker …`: every command, as one would type it; and `refbus` itself, for every system."""

from __future__ import annotations

import argparse
import inspect
import io
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from refbus import cli
from refbus.kernel.errors import StateConflict
from refbus.worker.bus import WorkerBus
from refbus.worker.tail import Tail

Run = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command on a store; its lines of JSON."""

    def run_(*words: str, code: int = 0) -> list[dict[str, Any]]:
        assert cli.main(["worker", "--store", str(tmp_path / "new" / "store"), *words]) == code
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return run_


def test_a_conversation(run: Run) -> None:
    """Publish, poll, acknowledge, search, export, archive, follow."""
    assert run("publish", "--as", "alice", "--to", "bob", "--id", "m1", "task_assign", '{"task": 1}') == [
        {"id": "m1", "seq": 1}
    ]
    run("publish", "--as", "bob", "--in-reply-to", "m1", "--correlation-id", "c", "task_done")
    messages = run("poll", "--as", "bob", "--limit", "5", "--wait-ms", "5")
    assert [message["type"] for message in messages] == ["task_assign", "task_done"]
    assert [message["seq"] for message in run("tail", "--no-follow", "-n", "1")] == [2]
    assert run("ack", "--as", "bob", "2") == [{"last_acked_seq": 2}]
    assert [message["id"] for message in run("search", "task", "assign")] == ["m1"]
    assert run("export") == [{"last_seq": 2}]
    assert run("archive") == [{"archived": 2, "below_seq": 2}]
    assert run("dump")[0]["integrity"] == "ok"


def test_options_of_a_system_may_stand_before_and_behind_the_command(run: Run, tmp_path: Path) -> None:
    """Behind it they count if they stand in both places; what stands before it alone is not undone."""
    run("publish", "--as", "alice", "t")
    assert [message["seq"] for message in run("tail", "--no-follow")] == [1]
    assert run("tail", "--no-follow", "--store", str(tmp_path / "other")) == []
    claims = [run("--lease-ms", "1", "claim", "--as", "a", "t", *more) for more in ([], ["--lease-ms", "60000"])]
    assert claims[1][0]["lease_until_ms"] > claims[0][0]["lease_until_ms"] + 50_000


def test_claims_and_presence(run: Run) -> None:
    """With tokens, states and heartbeats."""
    (claim,) = run("claim", "--as", "alice", "t1")
    assert claim["token"] == 1
    assert run("claim", "--as", "bob", "t1", code=1) == [{"claimed": False}]
    assert run("renew", "--as", "alice", "--token", "2", "t1", code=1) == [{"renewed": False}]
    assert run("release", "--as", "alice", "t1") == [{"released": True}]
    run("heartbeat", "--as", "alice", "working", "--task", "t1", "--progress", "0.5")
    assert run("liveness")[0]["agents"][0]["state"] == "ALIVE"
    assert run("transition", "w1", "-", "ASSIGNED")[0]["changed"]
    assert run("transition", "w1", "ASSIGNED", "WORKING")[0]["changed"]
    assert run("state", "w1") == [{"worker": "w1", "state": "WORKING"}]
    assert [row["payload"]["to"] for row in run("status")] == ["WORKING", "ASSIGNED"]
    assert run("dead-letters", "--as", "alice") == []
    assert run("redrive", "--as", "alice", "1", code=1) == [{"redriven": False}]


def test_a_worker_goes_its_way_by_the_seeds_commands(run: Run) -> None:
    """Each knows the state that it begins in; cancel and fail begin in any, and end nothing that has ended."""
    for verb, state in (("spawn", "ASSIGNED"), ("start", "WORKING"), ("done", "IN_REVIEW"), ("approve", "APPROVED")):
        assert run(verb, "w1") == [{"worker": "w1", "state": state, "changed": True}]
    run("start", "w1", code=1)
    assert run("merge", "w1")[0]["state"] == "COMPLETED"
    for verb, state in (("cancel", "CANCELLED"), ("fail", "FAILED")):
        run(verb, verb, code=1)  # nobody has spawned it
        run("spawn", verb)
        assert [run(verb, verb)[0] for _ in range(2)] == [
            {"worker": verb, "state": state, "changed": changed} for changed in (True, False)
        ]
        run(verb, "w1", code=1)


def test_a_step_that_is_refused_names_the_present_state(bus: WorkerBus) -> None:
    """Whatever the caller believed."""
    bus.transition("w1", "ASSIGNED")
    with pytest.raises(StateConflict, match="no way leads from WORKING to COMPLETED; w1 is ASSIGNED"):
        bus.transition("w1", "COMPLETED", "WORKING")


def test_a_payload_from_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a payload that is too long to type."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("[1, 2]"))
    run("publish", "--as", "alice", "t", "-")
    assert run("poll", "--as", "bob")[0]["payload"] == [1, 2]


def test_errors_go_to_stderr_with_their_code(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And the exit status is 1."""
    for words, code in (
        (("publish", "--as", "alice", "t", "{"), "INVALID_ARGUMENT"),
        (("publish", "--as", "a/b", "t"), "INVALID_ARGUMENT"),
        (("ack", "--as", "bob", "5"), "INVALID_ARGUMENT"),
        (("transition", "w", "ASSIGNED", "COMPLETED"), "STATE_CONFLICT"),
    ):
        assert cli.main(["worker", "--store", str(tmp_path / "s"), *words]) == 1
        assert f"refbus: {code}: " in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert cli.main(["worker", "--store", str(tmp_path / "file"), "publish", "--as", "a", "t"]) == 1
    errors = capsys.readouterr().err
    assert errors.startswith("refbus: IO_ERROR: ") and str(tmp_path / "file") in errors


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    """Say enough to use it."""
    for words, expected in (
        (["--version"], "refbus 0"),
        (["worker", "--help"], "task_assign"),
        (["worker", "claim", "--help"], "Exit code: 0 done; 1 an error, or a claim"),
    ):
        with pytest.raises(SystemExit) as caught:
            cli.main(words)
        assert caught.value.code == 0
        assert expected in " ".join(capsys.readouterr().out.split())


def _commands(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Those that run something."""
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for below in groups[0].choices.values() if groups else ():
        yield from _commands(below)
    if not groups:
        yield parser


@pytest.mark.parametrize("columns", range(30, 200, 10))
def test_a_command_tells_its_usage_in_a_window_of_any_width(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    """argparse fails where it breaks a line of usage that has hidden options."""
    monkeypatch.setenv("COLUMNS", str(columns))
    for command in _commands(cli.parser()):
        assert command.prog in " ".join(command.format_help().split())


def test_a_word_that_a_command_does_not_know_is_told_with_its_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["worker", "claim", "--as", "a", "t", "--digest"])
    assert caught.value.code == 2
    assert "usage: refbus worker claim" in capsys.readouterr().err


def test_who_makes_a_store_is_told_so_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A mistyped folder looks like an empty bus. The environment names one for agents in folders of their own."""
    monkeypatch.setenv("REFBUS_STORE", str(tmp_path / "s"))
    for words in (["publish", "--as", "a", "t"], ["poll", "--as", "b"]):
        assert cli.main(["worker", *words]) == 0
    assert capsys.readouterr().err == f"refbus: made a new store in '{tmp_path / 's'}'\n"


def test_what_a_command_runs_has_a_parameter_for_each_of_its_arguments() -> None:
    """An argument that nobody takes would be left out in silence."""
    for command in _commands(cli.parser()):
        takes = inspect.signature(command.get_default("run")).parameters
        for action in [each for each in command._actions if each.help != argparse.SUPPRESS]:  # those are the system's
            is_of_the_bus = (command.prog, action.dest) == ("refbus relay receive", "agent")  # whose mailbox is opened
            assert action.dest == "help" or {action.dest, "arguments"} & takes.keys() or is_of_the_bus, command.prog


def test_the_module_is_a_program(tmp_path: Path) -> None:
    """`python -m refbus`."""
    argv = [sys.executable, "-m", "refbus", "worker", "--store", str(tmp_path / "s"), "poll", "--as", "a"]
    assert subprocess.run(argv, check=False).returncode == 0


def test_tail_follows_what_comes(bus: WorkerBus) -> None:
    """From so many messages back, for everybody's messages."""
    bus.publish_many("alice", [{"type": "t", "to": "bob", "payload": n} for n in range(3)])
    following = Tail(bus, back=1).messages()
    assert next(following)["payload"] == 2
    sender = threading.Timer(0.02, lambda: bus.publish("alice", {"type": "t", "payload": 3}))
    sender.start()
    assert next(following)["payload"] == 3
    sender.join()
    following.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "words",
    [
        ("worker", "--store", "DIR", "status"),
        ("worker", "--store", "DIR", "dump"),
        ("comms", "--project", "DIR", "dead-letters"),
        ("topics", "--db", "DIR", "list"),
        ("topics", "--db", "DIR", "export", "parser"),
        ("topics", "--db", "EMPTY", "list"),
        ("relay", "--root", "DIR", "status"),
        ("timeline", "--store", "DIR", "timelines"),
    ],
)
def test_a_look_at_a_mistyped_path_makes_nothing_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    """It would look like an empty bus."""
    (tmp_path / "empty").mkdir()
    paths = {"DIR": str(tmp_path / "typo"), "EMPTY": str(tmp_path / "empty")}
    assert cli.main([paths.get(word, word) for word in words]) == 1
    assert "refbus: NOT_FOUND: " in capsys.readouterr().err
    assert list(tmp_path.rglob("*")) == [tmp_path / "empty"]


@pytest.mark.parametrize(
    "option", ["worker --store", "comms --project", "relay --root", "topics --db", "timeline --store"]
)
def test_an_empty_path_is_not_the_folder_one_stands_in(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A variable that is not set says it."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        cli.main([*option.split(), "", "dump"])
    assert ended.value.code == 2 and "the path is empty" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_output_that_nobody_reads_ends_quietly(bus: WorkerBus) -> None:
    """As of any program in a pipe before `head`."""
    bus.publish_many("a", [{"type": "note", "payload": "x" * 4000} for _ in range(40)])
    argv = [sys.executable, "-m", "refbus", "worker", "--store", str(bus.folder), "poll", "--as", "b"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        assert program.stdout and program.stderr
        program.stdout.read(10)
        program.stdout.close()
        assert program.stderr.read() == b""
    assert program.returncode == 141


def test_a_link_to_itself_and_no_port_are_refused_without_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line says why."""
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert cli.main(["topics", "--db", str(tmp_path / "loop"), "wipe", "--yes"]) == 1
    assert capsys.readouterr().err.startswith("refbus: ")
    for port in ("99999", "-1"):
        with pytest.raises(SystemExit) as caught:
            cli.main(["topics", "web", "--port", port])
        assert caught.value.code == 2


def refbus(store: Path, *words: str) -> list[str]:
    """The command line of a program that runs by itself."""
    return [sys.executable, "-m", "refbus", "worker", "--store", str(store), *words]


def eventually(look: Callable[[], Any]) -> Any:
    """The finding, once there is one."""
    deadline = time.monotonic() + 30
    while not (seen := look()):
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.01)
    return seen


def test_a_task_is_held_while_its_command_runs(tmp_path: Path) -> None:
    """Renewed beyond its lease, released at the end, with the exit code of the command."""
    store = tmp_path / "store"
    held = subprocess.Popen(
        refbus(store, "--lease-ms", "9000", "hold", "--as", "a", "t", "--", "sh", "-c", "read x; exit 7"),
        stdin=subprocess.PIPE,
    )
    with WorkerBus(eventually(lambda: store.is_dir() and store)) as bus:
        first_ms = eventually(lambda: [claim["lease_until_ms"] for claim in bus.dump()["task_claims"]])[0]
        eventually(lambda: bus.dump()["task_claims"][0]["lease_until_ms"] > first_ms)
        assert not bus.try_claim_task("t", "b")
        assert [beat["current_task"] for beat in bus.liveness()["agents"]] == ["t"]
        held.communicate(b"\n")
        assert held.returncode == 7
        assert bus.try_claim_task("t", "b")
    refused = subprocess.run(refbus(store, "hold", "--as", "a", "t", "--", "true"), check=False, capture_output=True)
    assert (refused.returncode, refused.stdout) == (1, b'{"claimed": false}\n')


def test_a_command_that_holds_a_task_gets_the_signal(tmp_path: Path) -> None:
    """And the task is free afterwards."""
    tells = "echo $REFBUS_TASK $REFBUS_TOKEN; exec sleep 60"
    held = subprocess.Popen(refbus(tmp_path, "hold", "--as", "a", "t", "--", "sh", "-c", tells), stdout=subprocess.PIPE)
    assert held.stdout is not None and held.stdout.readline() == b"t 1\n"
    held.terminate()
    held.communicate()
    assert held.returncode == 128 + signal.SIGTERM
    with WorkerBus(tmp_path) as bus:
        assert bus.try_claim_task("t", "b")


def test_a_heart_beats_while_a_process_lives(tmp_path: Path) -> None:
    """Which may be any program."""
    watched = subprocess.Popen(["sleep", "60"])
    beats = subprocess.Popen(
        refbus(tmp_path, "heartbeat", "--as", "a", "--every", "0.05", "--while", str(watched.pid), "working")
    )
    with WorkerBus(tmp_path) as bus:
        first = eventually(
            lambda: [agent["ts_ms"] for agent in bus.liveness()["agents"] if agent["status"] == "working"]
        )
        eventually(lambda: [agent["ts_ms"] for agent in bus.liveness()["agents"]] > first)
    watched.kill()
    watched.wait()
    assert beats.wait(30) == 0


def test_an_export_follows_the_log(tmp_path: Path) -> None:
    """As `tail -f bus.jsonl` wants it."""
    exported = tmp_path / "bus.jsonl"
    with WorkerBus(tmp_path) as bus, subprocess.Popen(refbus(tmp_path, "export", "--follow")) as follows:
        try:
            for message_id in ("m1", "m2"):
                bus.publish("a", {"type": "task_done", "id": message_id})
                eventually(lambda wanted=message_id: exported.exists() and wanted in exported.read_text())
        finally:
            follows.kill()


@pytest.mark.parametrize("options", [["--while", "1"], ["--every", "0"], ["--every", "-1"], ["--every", "nan"]])
def test_a_heart_that_cannot_beat_so_is_told(run: Run, options: list[str]) -> None:
    """And does not beat once."""
    run("heartbeat", "--as", "a", *options, "working", code=1)
    assert run("liveness") == [{"agents": []}]


@pytest.mark.parametrize(
    "words",
    [
        "relay run --port 99999",
        "relay run --log-keep -1",
        "relay run --log-bytes 0",
        "relay send --as a --to b --wait nan text",
        "timeline fetch --wait nan request service=s",
        "comms receive --as a --wait -1",
    ],
)
def test_a_number_that_means_nothing_is_refused_before_anything_happens(tmp_path: Path, words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "refbus", *words.split()], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_program_whose_output_is_closed_ends_as_it_would(tmp_path: Path) -> None:
    WorkerBus(tmp_path).close()
    command = f"{sys.executable} -m refbus worker --store {tmp_path} hold --as a t -- true >&-"
    assert subprocess.run(["sh", "-c", command], capture_output=True, text=True).stderr == ""
    assert subprocess.run(["sh", "-c", command]).returncode == 0
