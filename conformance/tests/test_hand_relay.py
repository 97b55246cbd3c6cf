"""The kit's hand on a folder of `relay` believes no number in a ledger: a bus may have written any."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from busproof.bus.hand_relay import ODD_PROGRAM, RelayHand


@contextlib.contextmanager
def agent_of(store: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A process that the ledger says is ann's; it waits until it is ended."""
    process = subprocess.Popen(["/bin/sh", "-c", "echo; read x"], stdin=-1, stdout=-1, env=os.environ | environment)
    assert process.stdout is not None
    process.stdout.readline()  # it has its own environment by now
    with contextlib.closing(sqlite3.connect(store / "ledger.db")) as db:
        db.execute("CREATE TABLE agents (name TEXT, pid INTEGER)")
        db.execute("INSERT INTO agents VALUES ('ann', ?)", (process.pid,))
        db.commit()
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def parents() -> dict[str, str]:
    """Each process of this machine, and its parent."""
    parent_of = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended
            parent_of[path.parent.name] = path.read_text().rpartition(")")[2].split()[1]
    return parent_of


def test_a_process_that_was_not_started_for_this_folder_is_left_alone(tmp_path: Path) -> None:
    """Its number may be an old one of an agent's, or never was."""
    (elsewhere := tmp_path / "elsewhere").mkdir()
    (store := tmp_path / "store").mkdir()
    with agent_of(store, {"AGENT_RELAY_DIR": str(elsewhere)}) as process, contextlib.closing(RelayHand(store)) as hand:
        for look in (hand.kill, hand.said):
            with pytest.raises(ProcessLookupError):
                look("ann")
        assert process.poll() is None


def test_an_agents_process_is_ended(tmp_path: Path) -> None:
    """It was told its folder, by whatever name that has."""
    (store := tmp_path / "store").mkdir()
    (link := tmp_path / "link").symlink_to(store)
    with agent_of(store, {"AGENT_RELAY_DIR": str(link)}) as process, contextlib.closing(RelayHand(store)) as hand:
        hand.kill("ann")
        assert process.wait(10) < 0
        hand.kill("ann")  # there is none any more


def _name_of(pid: int) -> str:
    """As the system knows it. A moment after the program was started it may still bear its parent's."""
    deadline = time.monotonic() + 10
    while (name := Path(f"/proc/{pid}/comm").read_text().rstrip("\n")).startswith("py"):
        assert time.monotonic() < deadline
        time.sleep(0.001)
    return name


def test_a_program_of_an_odd_name_is_known_to_the_system_by_that_name_and_starts_no_other(tmp_path: Path) -> None:
    (store := tmp_path / "store").mkdir()
    with contextlib.closing(RelayHand(store)) as hand:
        hand.config(clis={"odd": [ODD_PROGRAM]})
    path = tmp_path / ODD_PROGRAM
    assert str(path) in (store / "config.json").read_text()
    with subprocess.Popen([path], stdin=subprocess.DEVNULL) as process:
        try:
            assert _name_of(process.pid) == ODD_PROGRAM
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.2)
            assert parents()[str(process.pid)] == str(os.getpid())
            assert str(process.pid) not in parents().values()
        finally:
            process.kill()
