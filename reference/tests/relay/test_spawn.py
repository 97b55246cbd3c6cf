"""Spawn and release (4.3, 4.4): real processes, started as the owner allows it, ended whole (R5)."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.tests.relay.conftest import Agents, OpenRelay, rows, started

from refbus.kernel import process
from refbus.relay.bus import RelayBus
from refbus.relay.failure import Failure
from refbus.relay.processes import Processes, Target
from refbus.relay.spawn import read_fields

# It writes down all that it was given, starts a child in a session of its own, and then sleeps long. If it is told so,
# no SIGTERM ends that.
PROGRAM = """
env -0 > "$AGENT_RELAY_DIR/tmp/env"; pwd > "$AGENT_RELAY_DIR/tmp/cwd"; printf '%s\\0' "$@" > "$AGENT_RELAY_DIR/tmp/argv"
[ "$MODE" = stubborn ] && trap '' TERM
[ "$MODE" = short ] && exit 0
setsid sleep 1000 &
touch "$AGENT_RELAY_DIR/tmp/ready"
while :; do sleep 0.05; done
"""
ARGV = ["/bin/bash", "-c", PROGRAM, "agent", "--fixed"]


@pytest.fixture
def relay(ends_processes: None, open_relay: OpenRelay, tmp_path: Path) -> RelayBus:
    """One that may run the program, in one folder."""
    (tmp_path / "project" / "inner").mkdir(parents=True)
    return open_relay(
        clis={"prog": ARGV, "gone": ["/nowhere/program"]}, roots=[str(tmp_path / "project")], env=["MODE", "KEY2"]
    )


def ask(agents: Agents, relay: RelayBus, body: str, kind: str = "spawn", **fields: object) -> str | None:
    """A request; returns its error, None if it was done."""
    sent = agents.send("boss", "__orchestrator__", body, kind, **fields)
    relay.scan()
    row = rows(relay)[sent]
    assert row["status"] in ("archived", "failed")
    return None if row["status"] == "archived" else str(row["last_error"])


def agent(relay: RelayBus, name: str) -> tuple[str, int | None]:
    """Its status and pid."""
    (row,) = [row for row in relay.dump()["agents"] if row["name"] == name]
    return row["status"], row["pid"]


def eventually(is_so: Callable[[], bool]) -> bool:
    """Other processes get on."""
    deadline = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)
    return True


def noted(agents: Agents, name: str) -> list[str]:
    """The lines that the program wrote down."""
    eventually((agents.root / "tmp" / "ready").exists)
    return (agents.root / "tmp" / name).read_text().rstrip("\0\n").split("\0")


def test_a_program_that_is_not_there_is_no_agent(relay: RelayBus, agents: Agents) -> None:
    """It is terminated, and may be spawned again."""
    error = ask(agents, relay, "NAME: w\nCLI: gone")
    assert error is not None and error.startswith("spawn_failed: ")
    assert agent(relay, "w") == ("terminated", None)
    assert list((agents.root / "tmp").iterdir()) == []
    assert ask(agents, relay, "NAME: w\nCLI: prog") is None


def test_an_agent_whose_process_ends_is_terminated(relay: RelayBus, agents: Agents) -> None:
    """Noticed by the next pass; everything that it left behind is ended."""
    assert ask(agents, relay, "NAME: w\nCLI: prog") is None
    noted(agents, "env")
    _, pid = agent(relay, "w")
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: relay.scan() is not None and agent(relay, "w") == ("terminated", None))
    assert started(agents.root) == []


@pytest.mark.parametrize("what", ["a folder", "a fifo", "a hard link", "a folder for meta.json"])
def test_what_stands_where_a_spawn_writes_fails_it_alone(
    relay: RelayBus, agents: Agents, tmp_path: Path, what: str
) -> None:
    """Nothing hangs, nothing is written outside, and others' messages go on."""
    (home := agents.root / "agents" / "w").mkdir(parents=True)
    outside = tmp_path / "outside"
    outside.write_text("")
    match what:
        case "a folder":
            (home / "output.log").mkdir()
        case "a fifo":
            os.mkfifo(home / "output.log")
        case "a hard link":
            os.link(outside, home / "output.log")
        case _:
            (home / "meta.json").mkdir()
    agents.put("boss", b"TO: __orchestrator__\nKIND: spawn\n\nNAME: w\nCLI: prog\n")
    agents.send("boss", "boss", "after it")
    relay.store.db.write("INSERT OR IGNORE INTO agents (name, registered_at, status) VALUES ('w', 0, 'terminated')")
    relay.scan()
    failed = [row["last_error"] for row in rows(relay).values() if row["status"] == "failed"]
    assert [error.partition(":")[0] for error in failed] == ["spawn_failed"]
    assert agents.bodies("boss") == ["after it"] and outside.read_text() == ""


words = st.text(st.characters(exclude_categories=["Cc", "Cs", "Z"]))


@given(st.dictionaries(st.sampled_from(["NAME", "CLI", "ENV"]), words, min_size=1), st.text("ab\n :"))
def test_fields_are_read_as_they_are_written(short: dict[str, str], prompt: str) -> None:
    """The last one may have lines of its own."""
    body = "".join(f"{key}: {value}\n" for key, value in short.items()) + f"PROMPT: {prompt}"
    parsed = read_fields(body, ("NAME", "CLI", "ENV", "PROMPT"), long="PROMPT")
    assert parsed == short | {"PROMPT": prompt.strip()}


def test_a_line_of_a_prompt_cannot_be_another_field() -> None:
    """It would stand twice; and a field that is not asked for is none."""
    with pytest.raises(Failure):
        read_fields("CLI: a\nPROMPT: x\nCLI: b", ("CLI", "PROMPT"), long="PROMPT")
    with pytest.raises(Failure):
        read_fields("PATH: x", ("CLI",))


def test_what_takes_no_signal_from_this_user_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an agent that has become another user by sudo: nobody here can end it, and a release must end."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
    kill = os.kill
    running = process.find(child.pid)
    assert running is not None

    def denied(_pid: int, _number: int) -> None:
        raise PermissionError(errno.EPERM, "not permitted")

    try:
        monkeypatch.setattr(os, "kill", denied)
        Processes().end([Target(child.pid, running.started, "0" * 32)], grace_ms=100)
        assert child.poll() is None
    finally:
        monkeypatch.undo()
        kill(child.pid, signal.SIGKILL)
        child.wait()


def test_a_live_process_never_times_out(open_relay: OpenRelay, relay: RelayBus, agents: Agents) -> None:
    """One that only listens is active as long as it runs."""
    assert ask(agents, relay, "NAME: w\nCLI: prog") is None
    agents.clock.set(agents.clock.now_ms() + 10 * 3_600_000)
    relay.scan()
    assert agent(relay, "w")[0] == "active" and agent(relay, "boss")[0] == "inactive"
