"""Trouble with one file: the others do not wait for it, and the pass tells of it in the end (6.2)."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from reference.tests.relay.conftest import Agents, OpenRelay, events, permissions_count, rows

from refbus.kernel.errors import DiskFull, IoError
from refbus.relay.blob import attach
from refbus.relay.bus import RelayBus


@contextlib.contextmanager
def broken(call: str, path: Path, number: int = errno.EIO) -> Iterator[None]:
    """A spot of the disk: the call fails wherever its first argument is this file."""
    whole = getattr(os, call)

    def fails(what: Any, *args: Any, **kwargs: Any) -> Any:
        name = os.readlink(f"/proc/self/fd/{what}") if isinstance(what, int) else os.fspath(what)
        if os.path.basename(name) == path.name:
            raise OSError(number, os.strerror(number), name)
        return whole(what, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, call, fails)
        yield


@pytest.mark.parametrize("call", ["open", "read", "stat"])
def test_a_file_that_the_disk_does_not_give_stops_nobody_else(relay: RelayBus, agents: Agents, call: str) -> None:
    """Each pass says so, as long as it is so; the first one waits for it, so that most errors change no order."""
    bad = agents.put("ann", b"TO: bob\n\nbad")
    for sender in ("ann", "cid"):
        agents.send(sender, "bob", f"of {sender}")
    agents.join("bob")
    with broken(call, bad):
        for arrived in ([], ["of ann", "of cid"], ["of ann", "of cid"]):
            with pytest.raises(IoError) as caught:
                relay.scan()
            assert not caught.value.definite
            assert sorted(agents.bodies("bob")) == arrived
    assert relay.scan()["completed"] == 1
    assert sorted(agents.bodies("bob")) == ["bad", "of ann", "of cid"]


@pytest.mark.parametrize("is_new", [True, False])
def test_an_agent_whose_folder_the_disk_does_not_give_stops_nobody_else(
    relay: RelayBus, agents: Agents, is_new: bool
) -> None:
    """Whether it was known before, or is to be made."""
    agents.join("bob", "cid", *([] if is_new else ["ann"]))
    relay.scan()
    for sender in ("ann", "cid"):
        agents.send(sender, "bob", f"of {sender}")
    with broken("open", agents.root / "agents" / "ann"):
        for arrived in ([], ["of cid"]):
            with pytest.raises(IoError):
                relay.scan()
            assert agents.bodies("bob") == arrived
    relay.scan()
    assert agents.bodies("bob") == ["of cid", "of ann"]
    assert [agent["name"] for agent in relay.status()["agents"]] == ["ann", "bob", "cid"]


@pytest.mark.parametrize("call", ["open", "read"])
def test_a_message_that_the_disk_does_not_give_again_waits(relay: RelayBus, agents: Agents, call: str) -> None:
    """It is in the ledger, and is tried with the next pass: nobody claims that it is gone."""
    path = agents.put("ann", b"TO: bob\n\nbad")
    assert relay.scan()["retried"] == 1
    agents.join("bob")
    agents.send("cid", "bob", "good")
    agents.clock.set(agents.clock.now_ms() + 1_000)
    with broken(call, path):
        for arrived in ([], ["good"]):
            with pytest.raises(IoError):
                relay.scan()
            assert agents.bodies("bob") == arrived
    assert [row["status"] for row in rows(relay).values()] == ["pending", "archived"]
    assert relay.scan()["completed"] == 1


@pytest.mark.parametrize("call", ["open", "read"])
def test_an_attachment_that_the_disk_does_not_give_is_not_corrupt(relay: RelayBus, agents: Agents, call: str) -> None:
    """Its message waits for it."""
    agents.join("bob")
    path = attached(agents, b"large")
    agents.send("ann", "bob", "with", attachment=f"sha256:{path.name}")
    agents.send("ann", "bob", "without")
    with broken(call, path):
        for arrived in ([], ["without"]):
            with pytest.raises(IoError):
                relay.scan()
            assert agents.bodies("bob") == arrived
    assert relay.scan()["completed"] == 1
    assert agents.bodies("bob") == ["without", "with"]


def attached(agents: Agents, data: bytes) -> Path:
    """Content below its hash."""
    digest = attach(agents.root, data).partition(":")[2]
    return agents.root / "attachments" / digest[:2] / digest


@pytest.mark.parametrize("data", [b"TO: bob\n\nhello", b"TO: no body\n\n", b""])
def test_a_file_that_cannot_be_put_away_is_put_away_later(open_relay: OpenRelay, agents: Agents, data: bytes) -> None:
    """Its message is delivered once; the next pass, or the next orchestrator, finishes it."""
    relay = open_relay(malformed_ms=500)
    agents.join("bob")
    bad = agents.put("ann", data)
    agents.send("cid", "bob", "good")
    with broken("rename", bad):
        for _ in range(2):
            with pytest.raises(IoError):
                relay.scan()
        relay = open_relay(malformed_ms=500)
    assert "good" in agents.bodies("bob") and bad.exists()
    assert {row["status"] for row in rows(relay).values()} <= {"completed", "archived", "failed"}
    relay.scan()
    assert not bad.exists() and {row["status"] for row in rows(relay).values()} <= {"archived", "failed"}
    assert len(list(agents.root.glob("archive/*/ann/*"))) == 1 and agents.bodies("bob").count("hello") <= 1


def test_an_error_that_passes_changes_no_order(relay: RelayBus, agents: Agents) -> None:
    """The message that was sent first arrives first, though the disk gave it only when it was asked again."""
    agents.join("bob")
    bad = agents.put("ann", b"TO: bob\n\nfirst")
    agents.send("cid", "bob", "second")
    with broken("read", bad), pytest.raises(IoError):
        relay.scan()
    relay.scan()
    assert agents.bodies("bob") == ["first", "second"]


def test_a_full_disk_is_told_by_its_name(relay: RelayBus, agents: Agents) -> None:
    """Also where it met one file alone."""
    bad = agents.put("ann", b"TO: ann\n\n")
    with broken("rename", bad, errno.ENOSPC), pytest.raises(DiskFull) as caught:
        relay.scan()
    assert not caught.value.definite


def test_a_full_disk_in_what_a_pass_takes_up_again_may_have_done_a_part(
    relay: RelayBus, agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy is in its inbox before its row says so."""
    agents.join("bob")
    agents.send("ann", "bob", "hello")
    with monkeypatch.context() as patched:
        patched.setattr(relay.recovery._delivery, "place", lambda _: full_disk())
        with pytest.raises(DiskFull):
            relay.scan()
    with monkeypatch.context() as patched:
        patched.setattr(relay.recovery._delivery, "complete", lambda *_: full_disk())
        with pytest.raises(DiskFull) as caught:
            relay.scan()
    assert not caught.value.definite
    assert agents.bodies("bob") == ["hello"]
    relay.scan()
    assert agents.bodies("bob") == ["hello"]


def full_disk() -> NoReturn:
    """As SQLite says it of a commit."""
    raise DiskFull("database or disk is full")


def test_what_a_dead_orchestrator_held_is_not_gone_because_nobody_can_look(
    open_relay: OpenRelay, agents: Agents
) -> None:
    """Its owner lets nobody in for a while: it is pending again."""
    relay = open_relay()
    agents.put("ann", b"TO: bob\n\n")
    relay.scan()
    relay.store.db.connection().execute("UPDATE messages SET status = 'processing'")
    home = agents.root / "agents" / "ann"
    with permissions_count():
        home.chmod(0)
        try:
            relay = open_relay()
        finally:
            home.chmod(0o700)
    assert [row["status"] for row in rows(relay).values()] == ["pending"]


def test_what_nobody_can_delete_stops_nobody(relay: RelayBus, agents: Agents) -> None:
    """Not even its agent: a half file in a folder that is not to be written to stays there."""
    path = agents.put("ann", b"TO: bob\n\nhello")
    agents.join("bob")
    orphan = path.parent / ".pending" / "x.tmp"
    orphan.write_bytes(b"half")
    agents.age(orphan, 60_000)
    with permissions_count():
        orphan.parent.chmod(0o500)
        try:
            assert relay.scan()["completed"] == 1
        finally:
            orphan.parent.chmod(0o700)
    assert agents.bodies("bob") == ["hello"] and orphan.exists() and events(relay) == []
    relay.scan()
    assert events(relay) == [("orphan_removed", "agents/ann/outbox/.pending/x.tmp")]


def test_an_outbox_that_may_not_be_written_to_loses_nothing(open_relay: OpenRelay, agents: Agents) -> None:
    """Each file in it is delivered once, and put away by the next orchestrator that can."""
    relay = open_relay()
    path = agents.put("ann", b"TO: bob\n\nhello")
    agents.join("bob")
    relay.scan()
    again = agents.put("ann", b"TO: bob\n\nagain")
    with permissions_count():
        path.parent.chmod(0o500)
        try:
            assert [relay.scan()["completed"] for _ in range(2)] == [1, 0]
        finally:
            path.parent.chmod(0o700)
    assert agents.bodies("bob") == ["hello", "again"] and again.exists()
    assert sorted(row["status"] for row in rows(relay).values()) == ["archived", "completed"]
    relay = open_relay()
    relay.scan()
    assert not again.exists() and {row["status"] for row in rows(relay).values()} == {"archived"}


def test_what_is_forbidden_is_told_once_and_forgotten(
    relay: RelayBus, agents: Agents, caplog: pytest.LogCaptureFixture
) -> None:
    """As long as it is; nothing is kept of files that have gone."""
    path = agents.put("ann", b"TO: ann\n\n")
    with permissions_count():
        path.chmod(0)
        for _ in range(3):
            relay.scan()
        path.chmod(0o600)
    assert [record.message for record in caplog.records].count("left") == 1
    relay.scan()
    relay.scan()
    assert not relay.scanner._forbidden and not relay.scanner._told


@contextlib.contextmanager
def synced(root: Path) -> Iterator[list[str]]:
    """The folders below the root that are synced meanwhile."""
    whole, folders = os.fsync, []

    def notes(fd: int) -> None:
        whole(fd)
        folders.append(os.path.relpath(os.readlink(f"/proc/self/fd/{fd}"), root))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", notes)
        yield folders


@pytest.mark.parametrize("is_restarted", [True, False])
def test_a_row_is_archived_only_when_the_move_is_on_the_disk(
    open_relay: OpenRelay, agents: Agents, is_restarted: bool
) -> None:
    """Also a move by an earlier pass, which could not sync it, with a file and a link in the place of other days."""
    relay = open_relay(synchronous="FULL")
    agents.send("ann", "ann", "first")  # it makes the folders
    relay.scan()
    agents.send("ann", "ann", "second")
    (agents.root / "archive" / "2026-01-09").write_text("a file")
    (agents.root / "archive" / "2026-01-08").symlink_to(agents.root)
    day = agents.root / "archive" / "2026-01-10"
    for is_first in (True, False):
        relay = open_relay(synchronous="FULL") if is_restarted and not is_first else relay
        with broken("fsync", day / "ann"), pytest.raises(IoError):
            relay.scan()
        assert len(list(day.glob("ann/*.msg"))) == 2 and not list(agents.outbox("ann").glob("*.msg"))
        assert [row["status"] for row in rows(relay).values()] == ["archived", "completed"]
    with synced(agents.root) as folders:
        relay.scan()
    assert {"archive", "archive/2026-01-10", "archive/2026-01-10/ann"} <= set(folders)
    assert [row["status"] for row in rows(relay).values()] == ["archived", "archived"]
