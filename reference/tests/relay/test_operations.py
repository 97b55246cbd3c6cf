"""An operator's concerns: attachments, permissions, backups, rotation, full disks, too few descriptors, numbers."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import shutil
import signal
import sqlite3
import stat
from pathlib import Path

import pytest
from reference.tests.relay.conftest import Agents, OpenRelay, events, rows

from refbus.kernel.clock import Clock
from refbus.kernel.errors import BusError, InvalidArgument, IoError
from refbus.relay import blob
from refbus.relay.bus import RelayBus
from refbus.relay.mailbox import Mailbox

DAY_MS = 86_400_000


def test_the_tree_is_its_owners_alone(open_relay: OpenRelay, agents: Agents) -> None:
    """Folders 700, files 600, whatever umask says and whatever modes there were (5.1)."""
    agents.send("ann", "ann")
    agents.join("bob")
    (agents.root / "agents" / "bob").chmod(0o777)
    before = os.umask(0)
    try:
        relay = open_relay()
        relay.scan()
        Mailbox(agents.root, "cid").send(message("ann"))
    finally:
        os.umask(before)
    modes = {
        path.relative_to(agents.root).as_posix(): stat.S_IMODE(path.stat().st_mode) for path in agents.root.rglob("*")
    }
    for name in ("agents", "agents/ann", "agents/bob", "archive", "attachments", "tmp", "agents/ann/inbox"):
        assert modes[name] == 0o700, name
    for name, mode in modes.items():
        if name in ("ledger.db", "config.json", ".lock") or name.endswith(".msg"):
            assert mode == 0o600, name
    assert stat.S_IMODE(agents.root.stat().st_mode) == 0o700


def message(to: str, body: str = "") -> object:
    """A message."""
    from refbus.kernel.msgfile import Message

    return Message(to, body)


def test_an_attachment_is_stored_once(agents: Agents) -> None:
    """By its content."""
    assert (
        blob.attach(agents.root, b"x") == blob.attach(agents.root, b"x") == f"sha256:{hashlib.sha256(b'x').hexdigest()}"
    )
    assert len([path for path in agents.root.rglob("*") if path.is_file()]) == 1


def test_a_disk_that_is_nearly_full_costs_the_archive_its_past_where_its_owner_says_so(
    open_relay: OpenRelay, agents: Agents, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """The oldest days first, never today; the alert is told once. By default nothing is removed."""
    relay = open_relay(disk_alert_percent=0)
    for _ in range(3):
        agents.send("ann", "ann")
        relay.scan()
        clock.set(clock.now_ms() + DAY_MS)
    assert len(list((agents.root / "archive").iterdir())) == 3
    caplog.clear()  # of this machine, whose disk may be as full
    relay = open_relay(disk_low_percent=0, disk_alert_percent=0)
    agents.send("ann", "ann")
    relay.scan()
    relay.scan()
    assert [path.name for path in (agents.root / "archive").iterdir()] == ["2026-01-13"]
    assert [record.getMessage() for record in caplog.records].count("disk_alert") == 1


def test_a_name_that_is_taken_in_the_archive_gets_a_number(relay: RelayBus, agents: Agents) -> None:
    """Nothing in it is overwritten."""
    name = "1706123456789012345-a1b2c3d4.msg"
    taken = agents.root / "archive" / "2026-01-10" / "ann" / name
    taken.parent.mkdir(parents=True)
    taken.write_bytes(b"there")
    agents.put("ann", b"TO: ann\n\n", name=name)
    relay.scan()
    assert (taken.read_bytes(), taken.with_name(f"{name}.1").read_bytes()) == (b"there", b"TO: ann\n\n")


@pytest.mark.parametrize("swapped_for", ["other words", "a link", "a folder"])
def test_what_its_agent_puts_there_before_the_move_is_put_back_as_it_is(
    relay: RelayBus, agents: Agents, monkeypatch: pytest.MonkeyPatch, swapped_for: str
) -> None:
    """Between the look at a file and its move; a link is not followed, and nothing unread lies in the archive."""
    secret = agents.root.parent / "secret"
    secret.write_bytes(b"secret")
    file = agents.root / agents.put("ann", b"TO: ann\n\n")
    rename = os.rename

    def swap_first(source: str, to: str, **folders: int) -> None:
        if source == file.name and not file.is_symlink() and file.is_file() and file.read_bytes() == b"TO: ann\n\n":
            file.unlink()
            match swapped_for:
                case "other words":
                    file.write_bytes(b"TO: ann\n\nother words")
                case "a link":
                    file.symlink_to(secret)
                case "a folder":
                    file.mkdir()
        rename(source, to, **folders)

    monkeypatch.setattr(os, "rename", swap_first)
    relay.scan()
    assert (file.is_symlink(), file.is_dir()) == (swapped_for == "a link", swapped_for == "a folder")
    assert file.exists() and secret.stat().st_nlink == 1
    assert [path for path in (agents.root / "archive").rglob("*") if not path.is_dir() or path.suffix == ".msg"] == []


def test_a_copied_folder_goes_on_where_it_was(
    open_relay: OpenRelay, agents: Agents, tmp_path: Path, clock: Clock
) -> None:
    """On another disk every file has another inode: finished ones are archived, waiting ones delivered, each once."""
    relay = open_relay(archive=False)
    agents.send("ann", "ann", "done")
    relay.scan()
    agents.send("ann", "ann", "waits")
    relay.close()
    shutil.copytree(agents.root, tmp_path / "copy")
    copy = Agents(tmp_path / "copy", clock)
    with RelayBus(copy.root, clock=clock) as bus:
        bus.scan()
        assert copy.bodies("ann") == ["done", "waits"] and events(bus) == []
        assert [row["status"] for row in rows(bus).values()] == ["archived", "archived"]
    assert list(copy.outbox("ann").glob("*.msg")) == []


def test_a_copied_folder_without_an_archive_reuses_no_name(
    open_relay: OpenRelay, agents: Agents, tmp_path: Path, clock: Clock
) -> None:
    """Size and time tell a file, not the inode that another disk gives it."""
    relay = open_relay(archive=False)
    agents.send("ann", "ann", "done")
    relay.scan()
    relay.close()
    shutil.copytree(agents.root, tmp_path / "copy")
    with RelayBus(tmp_path / "copy", clock=clock, archive=False) as bus:
        assert bus.scan()["refused"] == 0


@pytest.mark.parametrize("in_the_way", ["DATE", "DATE/ann"])
def test_what_stands_in_the_archives_place_is_told(open_relay: OpenRelay, agents: Agents, in_the_way: str) -> None:
    """The message is delivered, its file waits in the outbox, and is archived when there is room (disk errors)."""
    relay = open_relay()
    agents.send("ann", "ann", "hello")
    place = agents.root / "archive" / in_the_way.replace("DATE", "2026-01-10")
    place.parent.mkdir(exist_ok=True)
    place.write_text("a file")
    for _ in range(2):
        with pytest.raises(IoError):
            relay.scan()
        assert [row["status"] for row in rows(relay).values()] == ["completed"]
    place.unlink()
    relay = open_relay()
    relay.scan()
    assert agents.bodies("ann") == ["hello"] and [row["status"] for row in rows(relay).values()] == ["archived"]
    assert not list(agents.outbox("ann").glob("*.msg"))


def test_a_bound_larger_than_all_memory_reads_small_files(open_relay: OpenRelay, agents: Agents) -> None:
    """The size that a file may have is no reason to make room for it."""
    relay = open_relay(message_bytes_max=10**11)
    agents.send("bob", "bob", "one")
    relay.scan()
    assert agents.bodies("bob") == ["one"]


def test_a_name_that_no_column_holds_stops_no_restore(relay: RelayBus, agents: Agents, tmp_path: Path) -> None:
    """An agent may put anything into its own inbox."""
    agents.join("bob")
    relay.scan()
    relay.backup(str(tmp_path / "copy.db"))
    inbox = relay.store.root / "agents/bob/inbox"
    (inbox / "9999999999999999999-00000000.msg").write_bytes(b"x")
    relay.restore(str(tmp_path / "copy.db"))
    agents.send("ann", "bob", "one")
    relay.scan()
    assert len(list(inbox.iterdir())) == 2


@pytest.mark.parametrize(
    "content", [None, b"", b"garbage" * 1000, b"SQLite format 3\0" + b"x" * 4096, "other", "names"]
)
def test_what_is_no_ledger_is_not_put_back(
    relay: RelayBus, agents: Agents, tmp_path: Path, content: bytes | str | None
) -> None:
    """And the ledger stays as it was."""
    agents.send("ann", "ann")
    relay.scan()
    before, path = relay.dump(), tmp_path / "copy.db"
    tables = {"other": ("messages",), "names": ("messages", "agents", "orchestrator_state", "pending_operations")}
    if isinstance(content, str):
        with sqlite3.connect(path) as connection:
            for table in tables[content]:
                connection.execute(f"CREATE TABLE {table} (id)")
        connection.close()
    elif isinstance(content, bytes):
        path.write_bytes(content)
    with pytest.raises(InvalidArgument):
        relay.restore(str(path))
    with pytest.raises(InvalidArgument):
        relay.backup("relative.db")
    assert relay.dump() == before


def test_too_few_descriptors_lose_nothing(relay: RelayBus, agents: Agents) -> None:
    """The pass says so, and the next one that can does the work (6.3)."""
    agents.join("bob")
    agents.send("ann", "*", "hello")
    agents.send("ann", "bob", "you")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(name) for name in os.listdir("/proc/self/fd"))
    failures = 0
    for limit in range(3, highest + 10):
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
        try:
            relay.scan()
        except IoError:
            failures += 1
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    relay.scan()
    assert failures > 0
    assert agents.bodies("bob") == ["hello", "you"]
    assert relay.status()["archived"] == 2 and list((agents.root / "tmp").iterdir()) == []


def test_a_pass_that_met_a_full_disk_promises_nothing(relay: RelayBus, agents: Agents) -> None:
    """It says that the disk is full, and a part may have been done; the next pass ends the rest (6.2)."""
    for number in range(3):
        agents.send("ann", "ann", f"{number}" + "x" * 5_000)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_000, hard))
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with pytest.raises(BusError) as caught:
            relay.scan()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert not caught.value.definite
    relay.scan()
    assert [body[0] for body in agents.bodies("ann")] == ["0", "1", "2"]
    assert relay.status()["archived"] == 3 and list((agents.root / "tmp").iterdir()) == []


def test_what_lies_in_tmp_goes_and_nothing_that_it_leads_to(open_relay: OpenRelay, store: Path, tmp_path: Path) -> None:
    """A link to a folder, a folder within a folder: neither holds up a start, and everything outside stays (R8)."""
    open_relay().close()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious.txt").write_text("kept")
    (store / "tmp" / "link").symlink_to(outside)
    (store / "tmp" / "a" / "b").mkdir(parents=True)
    (store / "tmp" / "a" / "b" / "link").symlink_to(outside)
    open_relay()
    assert list((store / "tmp").iterdir()) == []
    assert (outside / "precious.txt").read_text() == "kept"


def test_an_inbox_shows_what_can_be_read(open_relay: OpenRelay, agents: Agents, store: Path) -> None:
    """However large a message is, and whatever else lies there."""
    agents.join("bob")
    agents.send("ann", "bob", "x" * (3 << 20))
    open_relay(message_bytes_max=8 << 20).scan()
    (store / "agents" / "bob" / "inbox" / agents.name()).write_text("no message")
    mailbox = Mailbox(store, "bob")
    assert [len(received["body"]) for received in mailbox.receive(take=True)] == [3 << 20]
    assert mailbox.receive() == []
    assert len(list((store / "agents" / "bob" / "inbox").iterdir())) == 1


def test_a_folder_under_the_name_of_a_copy_stops_nobody(open_relay: OpenRelay, agents: Agents, clock: Clock) -> None:
    """That copy is lost, as where there is no inbox; all others are delivered, and the folder can be opened again."""
    relay = open_relay()
    agents.join("bob", "cid")
    path = agents.put("bob", b"TO: bob\n\nto myself")
    taken = f"{clock.now_ms() * 1_000_000}-{path.stem.partition('-')[2]}.msg"
    (agents.root / "agents" / "bob" / "inbox" / taken).mkdir(parents=True)
    agents.send("ann", "cid", "hello")
    relay.scan()
    open_relay().scan()
    assert agents.bodies("cid") == ["hello"]


@pytest.mark.parametrize(
    "settings",
    ["", "[]", '{"settle_ms": -1}', '{"settle_ms": true}', '{"archive": 1}', '{"lead": "root"}', '{"surprise": 1}',
     '{"clis": {"a": []}}', '{"clis": {"a": ["sh"]}}', '{"clis": ["a"]}', '{"env": ["A B"]}', '{"roots": "x"}',
     '{"message_bytes_max": NaN}'],
)  # fmt: skip
def test_bad_settings_are_refused(store: Path, settings: str) -> None:
    """Before anything is done; the lock is free again."""
    (store / "config.json").write_text(settings)
    with pytest.raises(InvalidArgument):
        RelayBus(store)
    assert not (store / "ledger.db").exists()
    (store / "config.json").unlink()
    RelayBus(store).close()
    assert json.loads((store / "config.json").read_text()) == {}


def test_settings_are_those_of_the_file_unless_it_is_opened_with_others(store: Path, agents: Agents) -> None:
    """The options win."""
    (store / "config.json").write_text('{"lead": "ann", "settle_ms": 7}')
    with RelayBus(store, settle_ms=8) as relay:
        assert (relay.store.config.lead, relay.store.config.settle_ms) == ("ann", 8)
