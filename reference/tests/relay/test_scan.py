"""Which files become messages, when, and the end of the others (2.2, 2.3, 6.1, 6.5; R3, R8, R9, R10)."""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference.tests.relay.conftest import Agents, OpenRelay, events, permissions_count, rows

from refbus.kernel import msgfile
from refbus.kernel.clock import Clock
from refbus.kernel.errors import BusError, InvalidArgument
from refbus.relay import names
from refbus.relay.bus import RelayBus

GOOD = b"TO: ann\n\nhello"
NAME = "1706123456789012345-a1b2c3d4.msg"


@given(st.text(max_size=80))
def test_an_agents_name_is_a_safe_part_of_a_path(name: str) -> None:
    """Or no name."""
    if names.is_agent_name(name):
        assert name.isascii() and 0 < len(name) < 64 and not set(name) & set("./\\ \0") and name[0].isalpha()


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("a", True), ("Z-_9", True), ("a" * 63, True), ("a" * 64, False), ("9a", False), ("_a", False), ("", False),
     ("a\n", False), ("é", False), ("lead", False), ("ROOT", False), ("System", False), ("admin", False),
     ("roots", True)],
)  # fmt: skip
def test_names_of_agents(name: str, is_one: bool) -> None:
    """A letter, then letters, digits, underscore, hyphen, 63 in all; not reserved, whatever the case."""
    assert names.is_agent_name(name) == is_one


def test_a_file_is_taken_when_it_has_settled(relay: RelayBus, agents: Agents, clock: Clock) -> None:
    """100 ms after its last change, to the millisecond."""
    agents.put("ann", GOOD, age_ms=99)
    assert relay.scan()["discovered"] == 0
    assert relay.scanner.next_ms == 1
    clock.set(clock.now_ms() + 1)
    assert relay.scan()["discovered"] == 1


@pytest.mark.parametrize("what", ["file", "outbox", ".pending"])
def test_what_an_agent_lets_nobody_read_stops_nobody_else(relay: RelayBus, agents: Agents, what: str) -> None:
    """It waits, and is delivered when it may be read."""
    agents.join("bob")
    forbidden = agents.put("ann", b"TO: bob\n\nsecret")
    agents.send("cas", "bob", "hello")
    path = {"file": forbidden, "outbox": forbidden.parent, ".pending": forbidden.parent / ".pending"}[what]
    mode = path.stat().st_mode
    with permissions_count():
        path.chmod(0)
        try:
            assert relay.scan()["completed"] == 1
            assert relay.scan()["failed"] == 0
        finally:
            path.chmod(mode)
    assert [message.body for *_, message in agents.inbox("bob")] == ["hello"]
    agents.age(forbidden, 1_000)
    assert relay.scan()["completed"] == 1
    assert [message.body for *_, message in agents.inbox("bob")] == ["hello", "secret"]


def test_a_time_that_the_ledger_cannot_hold_stops_nobody_else(relay: RelayBus, agents: Agents) -> None:
    """A file's owner sets its time: that of the year 2286, as it is kept, is more than 63 bits of nanoseconds."""
    path = agents.put("ann", b"TO: bob\n\nfrom far away")
    os.utime(path, ns=(10**19, 10**19))
    agents.join("bob")
    agents.send("cas", "bob", "hello")
    assert relay.scan()["completed"] == 1
    assert [message.body for *_, message in agents.inbox("bob")] == ["hello"]


def test_files_may_be_kept_longer_than_there_are_days(open_relay: OpenRelay, agents: Agents) -> None:
    """Nothing is removed then."""
    relay = open_relay(retention_days=3_000_000)
    agents.send("ann", "ann")
    assert relay.scan()["completed"] == 1
    assert relay.scan()["failed"] == 0


def test_a_message_that_may_not_be_read_any_more_waits(relay: RelayBus, agents: Agents, clock: Clock) -> None:
    """Its recipient was unknown at first; when it is tried again, its owner lets nobody read it."""
    path = agents.put("ann", b"TO: bob\n\nsecret")
    assert relay.scan()["retried"] == 1
    agents.join("bob")
    clock.set(clock.now_ms() + 10_000)
    with permissions_count():
        path.chmod(0)
        try:
            done = relay.scan()
        finally:
            path.chmod(0o600)
    assert (done["completed"], done["failed"]) == (0, 0)
    assert relay.scan()["completed"] == 1


def test_a_day_without_a_name_is_refused_before_anything_is_looked_at(
    relay: RelayBus, agents: Agents, clock: Clock
) -> None:
    """The archive has a folder a day."""
    agents.send("ann", "bob")
    clock.set(2**53)
    with pytest.raises(InvalidArgument) as refused:
        relay.scan()
    assert refused.value.definite and relay.dump()["messages"] == []


def test_a_file_from_the_future_settles_by_standing_still(relay: RelayBus, agents: Agents, clock: Clock) -> None:
    """Also while the clock goes back: a monotonic one counts (R9)."""
    path = agents.put("ann", GOOD, age_ms=-3_600_000)
    assert relay.scan()["discovered"] == 0
    clock.set(clock.now_ms() - 50_000)
    clock.set(clock.now_ms() + 99)
    assert relay.scan()["discovered"] == 0
    path.write_bytes(GOOD + b"!")  # another state of it: the time starts anew
    agents.age(path, -3_600_000)
    clock.set(clock.now_ms() + 1)
    assert relay.scan()["discovered"] == 0
    clock.set(clock.now_ms() + 100)
    assert relay.scan()["discovered"] == 1
    assert agents.bodies("ann") == ["hello!"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"TO: ann\n", "malformed: no empty line ends the header"),
        (b"\xff", "malformed: no UTF-8 at byte 0"),
        (b"TO: ann\nCHECKSUM: sha256:" + b"0" * 64 + b"\n\nx", "checksum_mismatch: the body has another hash"),
    ],
)
def test_what_is_no_message_ends_in_a_row_after_five_seconds(
    relay: RelayBus, agents: Agents, clock: Clock, data: bytes, reason: str
) -> None:
    """With its reason, and its file in the archive (R10). Until then it may still become one."""
    path = agents.put("ann", data, age_ms=4_999)
    assert (relay.scan()["discovered"], path.exists()) == (0, True)
    clock.set(clock.now_ms() + 1)
    assert relay.scan() == {"discovered": 1, "completed": 0, "failed": 1, "retried": 0, "refused": 0}
    (row,) = rows(relay).values()
    assert (row["status"], row["last_error"], row["retry_count"], row["target"]) == ("failed", reason, 0, None)
    assert [archived.read_bytes() for archived in agents.root.glob("archive/*/ann/*")] == [data]
    assert not path.exists()


def test_a_name_may_say_the_hash_of_its_file(relay: RelayBus, agents: Agents, clock: Clock) -> None:
    """One that does not agree waits for its writer, and fails (2.3)."""
    data = b"TO: ann\n\nhello"
    digest = hashlib.sha256(data).hexdigest()
    agents.put("ann", data, name=f"1706123456789000001-0000000a-{digest}.msg")
    agents.put("ann", data + b"!", name=f"1706123456789000002-0000000b-{digest}.msg")
    relay.scan()
    assert [row["status"] for row in rows(relay).values()] == ["archived"]
    clock.set(clock.now_ms() + 5_000)
    relay.scan()
    failed = rows(relay)[f"ann/1706123456789000002-0000000b-{digest}"]
    assert failed["last_error"] == "checksum_mismatch: the file has another hash than its name"
    assert [path.name[-12:] for path in (agents.root / "agents/ann/inbox").iterdir()] == ["0000000a.msg"]


def test_a_file_that_is_finished_late_is_a_message(relay: RelayBus, agents: Agents) -> None:
    """A writer without the atomic rename is waited for."""
    path = agents.put("ann", b"TO: ann\n", age_ms=2_000)
    relay.scan()
    path.write_bytes(GOOD)
    agents.age(path, 200)
    relay.scan()
    assert agents.bodies("ann") == ["hello"]


@pytest.mark.parametrize(("extra", "is_taken"), [(0, True), (1, False)])
def test_a_message_may_have_a_mebibyte(relay: RelayBus, agents: Agents, extra: int, is_taken: bool) -> None:
    """One byte more is too much: it is never read."""
    data = b"TO: ann\n\n" + b"x" * (msgfile.BYTES_MAX - 9 + extra)
    agents.put("ann", data)
    relay.scan()
    (row,) = rows(relay).values()
    assert (row["status"] == "archived", len(agents.inbox("ann"))) == (is_taken, int(is_taken))
    assert is_taken or (row["last_error"].startswith("too_large") and row["checksum"] is None)


def test_a_sparse_gigabyte_costs_nothing(relay: RelayBus, agents: Agents) -> None:
    """It is too large."""
    path = agents.put("ann", b"TO: ann\n\n")
    os.truncate(path, 1 << 30)
    agents.age(path, 1_000)
    relay.scan()
    (row,) = rows(relay).values()
    assert row["last_error"].startswith("too_large")


def _symlink(path: Path, outside: Path) -> None:
    path.symlink_to(outside)


def _hard_link(path: Path, outside: Path) -> None:
    os.link(outside, path)


def _fifo(path: Path, outside: Path) -> None:
    os.mkfifo(path)


def _folder(path: Path, outside: Path) -> None:
    path.mkdir()


def _socket(path: Path, outside: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made, contextlib.chdir(path.parent):
        made.bind(path.name)


def _device(path: Path, outside: Path) -> None:
    os.mknod(path, 0o600 | 0o020000, os.makedev(1, 3))


def _other_name(path: Path, outside: Path) -> None:
    path.with_name("hello.msg").write_bytes(GOOD)


@pytest.mark.parametrize(
    ("make", "event"),
    [(_symlink, "symlink"), (_hard_link, "hard_link"), (_fifo, "not_regular"), (_folder, "not_regular"),
     (_socket, "not_regular"), (_device, "not_regular"), (_other_name, "bad_file_name")],
)  # fmt: skip
def test_what_is_no_plain_file_stays_where_it_is(
    relay: RelayBus, agents: Agents, tmp_path: Path, make: object, event: str
) -> None:
    """Never opened, no row, one record until it is another thing (R8)."""
    outside = tmp_path / "outside.msg"
    outside.write_bytes(GOOD)
    agents.join("ann")
    assert callable(make)
    try:
        make(agents.outbox("ann") / NAME, outside)
    except PermissionError:
        assert make is _device and os.getuid() != 0
        return
    assert relay.scan()["refused"] == 1
    assert relay.scan()["refused"] == 0
    ((refusal, path),) = events(relay)
    assert (refusal, os.path.lexists(agents.root / path)) == (event, True)
    assert rows(relay) == {} and agents.inbox("ann") == [] and outside.read_bytes() == GOOD


@pytest.mark.parametrize(
    "name", ["x.msg", "1-A1B2C3D4.msg", "1-a1b2c3d.msg", "1-a1b2c3d45.msg", "-a1b2c3d4.msg", "1a1b2c3d4.msg", ".msg",
             "1-a1b2c3dg.msg", "12345678901234567890-a1b2c3d4.msg", " 1-a1b2c3d4.msg", "1-a1b2c3d4.msg.msg", "é.msg",
             "1-a1b2c3d4\n.msg"],
)  # fmt: skip
def test_tricks_with_names_are_refused(relay: RelayBus, agents: Agents, name: str) -> None:
    """Only digits, a hyphen and eight lower-case hexadecimal digits are a message's name."""
    agents.put("ann", GOOD, name=name)
    relay.scan()
    assert events(relay) == [("bad_file_name", f"agents/ann/outbox/{name}")]


def test_a_name_that_is_no_utf_8_is_refused_as_well(relay: RelayBus, agents: Agents) -> None:
    """And recorded so that it can be read."""
    agents.join("ann")
    with open(os.fsencode(agents.outbox("ann")) + b"/\xff.msg", "wb"):
        pass
    relay.scan()
    assert events(relay) == [("bad_file_name", "agents/ann/outbox/\\udcff.msg")]


def test_other_files_are_nobodys_business(relay: RelayBus, agents: Agents) -> None:
    """Only *.msg is looked at."""
    agents.join("ann")
    (agents.outbox("ann") / "notes.txt").write_text("x")
    (agents.root / "agents" / "README").write_text("x")
    assert relay.scan() == {"discovered": 0, "completed": 0, "failed": 0, "retried": 0, "refused": 0}


@pytest.mark.parametrize(
    ("name", "event"), [("1ann", "bad_agent_name"), ("system", "bad_agent_name"), ("LEAD", "bad_agent_name")]
)
def test_a_folder_that_no_agent_may_have_is_not_entered(relay: RelayBus, agents: Agents, name: str, event: str) -> None:
    """Its messages wait for ever."""
    agents.put(name, GOOD)
    relay.scan()
    assert events(relay) == [(event, f"agents/{name}")]
    assert relay.status()["agents"] == [] and rows(relay) == {}


@pytest.mark.parametrize("path", ["agents/1ann", "agents/ann/outbox/1-0000000a.msg"])
def test_a_folder_that_is_refused_is_told_once_whatever_is_put_into_it(
    relay: RelayBus, agents: Agents, path: str
) -> None:
    """It is the same one; another in its place is told of."""
    agents.join("ann")
    folder = agents.root / path
    folder.mkdir()
    for number in range(3):
        (folder / str(number)).touch()
        relay.scan()
    assert [path for _, path in events(relay)] == [path]
    folder.rename(agents.root / "elsewhere")
    folder.mkdir()
    relay.scan()
    assert [path for _, path in events(relay)] == [path] * 2


@pytest.mark.parametrize("part", ["", "/outbox", "/outbox/.pending"])
def test_no_link_among_an_agents_folders_is_followed(
    relay: RelayBus, agents: Agents, tmp_path: Path, part: str
) -> None:
    """Wherever it leads, nothing is read there, moved from there or deleted there."""
    outside = Agents(tmp_path / "outside", agents.clock)
    outside.put("eve", GOOD)
    agents.join("eve")
    path = agents.root / f"agents/eve{part}"
    for folder in ("outbox/.pending", "outbox", ""):
        if f"agents/eve/{folder}".startswith(f"agents/eve{part}") and (agents.root / "agents/eve" / folder).is_dir():
            (agents.root / "agents/eve" / folder).rmdir()
    path.symlink_to(outside.root / f"agents/eve{part}", target_is_directory=True)
    relay.scan()
    relay.scan()
    assert events(relay) == [("symlink", f"agents/eve{part}")]
    assert rows(relay) == {} and len(list(outside.outbox("eve").glob("*.msg"))) == 1


def test_an_inbox_that_is_a_link_gets_nothing(relay: RelayBus, agents: Agents, tmp_path: Path) -> None:
    """From the start or later: the messages are done, and their copies failed."""
    outside = tmp_path / "outside"
    outside.mkdir()
    agents.join("bob", "cid")
    inboxes = [agents.root / "agents" / name / "inbox" for name in ("bob", "cid")]
    inboxes[0].symlink_to(outside, target_is_directory=True)
    for _ in range(2):
        agents.send("ann", "bob", "secret")
        agents.send("ann", "*", "secret")
        relay.scan()
        if not inboxes[1].is_symlink():
            inboxes[1].rename(tmp_path / "taken")
            inboxes[1].symlink_to(outside, target_is_directory=True)
    assert list(outside.iterdir()) == []
    assert {row["status"] for row in rows(relay).values()} == {"archived"}
    copies = [(row["agent_name"], row["status"], row["last_error"]) for row in rows(relay, "inbox").values()]
    lost = [(name, "failed", "inbox_lost") for name in ("bob", "bob", "bob", "bob", "cid")]
    assert sorted(copies, key=repr) == sorted([*lost, ("cid", "completed", None)], key=repr)
    assert events(relay) == [("symlink", f"agents/{name}/inbox") for name in ("bob", "cid")]


def test_an_inbox_that_nobody_may_write_to_stops_nobody_else(relay: RelayBus, agents: Agents) -> None:
    """Its copy has failed; the others have theirs."""
    agents.join("bob", "cid")
    relay.scan()
    agents.send("ann", "*", "hello")
    inbox = agents.root / "agents" / "bob" / "inbox"
    with permissions_count():
        inbox.chmod(0o500)
        try:
            assert relay.scan()["completed"] == 1
        finally:
            inbox.chmod(0o700)
    assert (agents.bodies("bob"), agents.bodies("cid")) == ([], ["hello"])
    assert [row["last_error"] for row in rows(relay, "inbox").values()] == ["inbox_lost", None]


@pytest.mark.parametrize(
    ("call", "times", "bodies", "error"),
    [("fsync", 2, ["hello"], None), ("rename", 1, ["hello"], None), ("rename", 9, [], "inbox_lost")],
)
def test_an_inbox_that_its_agent_removes_meanwhile_takes_no_copy_from_others(
    relay: RelayBus,
    agents: Agents,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    times: int,
    bodies: list[str],
    error: str | None,
) -> None:
    """When it was just made, or just before the copy comes into it; it is made again, but not for ever."""
    agents.join("bob", "cid")
    agents.send("ann", "*", "hello")
    inbox = agents.root / "agents" / "bob" / "inbox"
    done, left = getattr(os, call), [None] * times

    def first_removes_it(*args: Any, **how: Any) -> Any:
        if left and inbox.is_dir() and any((agents.root / "tmp").iterdir()):
            inbox.rmdir()
            left.pop()
        return done(*args, **how)

    monkeypatch.setattr(os, call, first_removes_it)
    assert relay.scan()["completed"] == 1
    assert (agents.bodies("bob"), agents.bodies("cid")) == (bodies, ["hello"])
    assert [row["last_error"] for row in rows(relay, "inbox").values()] == [error, None]
    assert list((agents.root / "tmp").iterdir()) == []


def test_a_message_is_processed_as_it_was_discovered(open_relay: OpenRelay, agents: Agents) -> None:
    """Changed before it was claimed, it is parsed again; its row keeps its id (R3)."""
    relay = open_relay()
    path = agents.put("ann", b"TO: nobody\n\nfirst")
    relay.scan()
    path.write_bytes(b"TO: ann\nKIND: status\n\nsecond")
    agents.age(path, 50)
    assert relay.scan()["completed"] == 0  # not settled: held back
    relay.store.clock.set(relay.store.clock.now_ms() + 50)
    relay.scan()
    (row,) = rows(relay).values()
    assert (row["target"], row["message_type"], row["retry_count"]) == ("ann", "status", 1)
    relay.store.clock.set(relay.store.clock.now_ms() + 1_000)
    relay.scan()
    assert agents.bodies("ann") == ["second"]


def test_a_message_that_became_none_fails(relay: RelayBus, agents: Agents, clock: Clock) -> None:
    """When it is too old to become one."""
    path = agents.put("ann", b"TO: nobody\n\n")
    relay.scan()
    path.write_bytes(b"x")
    agents.age(path, 0)
    clock.set(clock.now_ms() + 5_000)
    assert relay.scan()["failed"] == 1
    (row,) = rows(relay).values()
    assert (row["status"], row["last_error"][:9], row["target"]) == ("failed", "malformed", None)


def test_a_message_that_changed_unseen_is_read_again(relay: RelayBus, agents: Agents, clock: Clock) -> None:
    """Its size and time are as they were, so no look sees it: it is seen when its message is due (R3, R4)."""
    path = agents.put("ann", b"TO: late\n\nhello")
    relay.scan()
    agents.put("ann", b"TO: late\n\nHELLO", name=path.name)
    agents.join("late")
    for _ in range(2):
        clock.set(clock.now_ms() + 1_000)
        relay.scan()
    assert agents.bodies("late") == ["HELLO"] and events(relay) == []


def test_a_message_that_a_later_limit_forbids_fails(open_relay: OpenRelay, agents: Agents, clock: Clock) -> None:
    """It waits for its next try when an orchestrator opens that takes less: no row stays pending for ever (R4)."""
    data = b"TO: nobody\n\n" + b"x" * 100
    path = agents.put("ann", data)
    with open_relay() as relay:
        assert relay.scan()["retried"] == 1
    clock.set(clock.now_ms() + 1_000)
    relay = open_relay(message_bytes_max=len(data) - 1)
    assert relay.scan()["failed"] == 1
    (row,) = rows(relay).values()
    assert (row["status"], row["last_error"][:9]) == ("failed", "too_large") and not path.exists()


def test_a_message_that_went_away_fails(relay: RelayBus, agents: Agents, clock: Clock) -> None:
    """As does one that became a link."""
    paths = [agents.put("ann", b"TO: nobody\n\n") for _ in range(2)]
    relay.scan()
    paths[0].unlink()
    paths[1].unlink()
    paths[1].symlink_to("/etc/passwd")
    clock.set(clock.now_ms() + 1_000)
    relay.scan()
    assert [(row["status"], row["last_error"]) for row in rows(relay).values()] == [("failed", "file_disappeared")] * 2
    assert paths[1].is_symlink()


@pytest.mark.parametrize("archive", [True, False])
def test_a_used_name_is_not_used_again(open_relay: OpenRelay, agents: Agents, archive: bool) -> None:
    """Another file under it is recorded, stays, and is never delivered as another message (R3)."""
    relay = open_relay(archive=archive)
    agents.put("ann", GOOD, name=NAME)
    relay.scan()
    assert (agents.outbox("ann") / NAME).exists() != archive
    assert relay.scan()["refused"] == 0
    agents.put("ann", GOOD, name=NAME, age_ms=900)
    assert (relay.scan()["refused"], relay.scan()["refused"]) == (1, 0)
    assert events(relay) == [("name_reused", f"agents/ann/outbox/{NAME}")]
    assert agents.bodies("ann") == ["hello"] and (agents.outbox("ann") / NAME).exists()


def test_two_agents_may_use_the_same_name(relay: RelayBus, agents: Agents) -> None:
    """Nobody can burn another's; eight digits alone meet by chance."""
    for agent in ("ann", "bob"):
        agents.put(agent, b"TO: cid\n\n" + agent.encode(), name=NAME)
    agents.join("cid")
    relay.scan()
    assert agents.bodies("cid") == ["ann", "bob"]
    copy = next((agents.root / "agents" / "cid" / "inbox").iterdir()).name
    agents.put("cid", b"TO: ann\n\n", name=copy)
    relay.scan()
    assert events(relay) == [("name_reused", f"agents/cid/outbox/{copy}")]


def test_what_is_still_in_pending_is_waited_for(relay: RelayBus, agents: Agents) -> None:
    """A file of the same name says that its writer is not done."""
    path = agents.put("ann", GOOD)
    (path.parent / ".pending" / path.name).write_bytes(b"")
    assert relay.scan()["discovered"] == 0
    (path.parent / ".pending" / path.name).unlink()
    assert relay.scan()["discovered"] == 1


def test_what_nobody_finishes_is_deleted(relay: RelayBus, agents: Agents, clock: Clock) -> None:
    """Half a minute after its last change, with a record (6.1)."""
    agents.join("ann")
    path = agents.outbox("ann") / ".pending" / "x.tmp"
    path.write_bytes(b"half")
    agents.age(path, 30_000)
    relay.scan()
    assert path.exists()
    clock.set(clock.now_ms() + 1)
    relay.scan()
    assert not path.exists()
    assert events(relay) == [("orphan_removed", "agents/ann/outbox/.pending/x.tmp")]


def test_who_sends_too_much_waits(open_relay: OpenRelay, agents: Agents, clock: Clock) -> None:
    """Nothing is lost, others are not held up, and a restart forgives nothing."""
    relay = open_relay(rate_per_min=3)
    for number in range(5):
        agents.send("ann", "ann", str(number))
    agents.send("bob", "bob", "b")
    assert (relay.scan()["discovered"], relay.scan()["refused"]) == (4, 0)
    relay = open_relay(rate_per_min=3)
    assert relay.scan()["discovered"] == 0
    clock.set(clock.now_ms() + 60_000)
    assert relay.scan()["discovered"] == 2
    assert agents.bodies("ann") == ["0", "1", "2", "3", "4"]
    assert set(events(relay)) == {("rate_limited", "agents/ann")}


def test_who_waits_is_told_when_the_ledger_can_be_written(open_relay: OpenRelay, agents: Agents) -> None:
    """A pass that failed has recorded nothing: the next one does."""
    relay = open_relay(rate_per_min=1)
    for number in range(2):
        agents.send("ann", "ann", str(number))
    relay.store.db.write("CREATE TRIGGER full BEFORE INSERT ON audit_log BEGIN SELECT raise(ABORT, 'full'); END")
    with pytest.raises(BusError):
        relay.scan()
    relay.store.db.write("DROP TRIGGER full")
    relay.scan()
    assert events(relay) == [("rate_limited", "agents/ann")]


def test_a_clock_that_goes_back_limits_nobody(open_relay: OpenRelay, agents: Agents, clock: Clock) -> None:
    """Files that were found in the hour that comes again are not of the last minute (R1)."""
    relay = open_relay(rate_per_min=1)
    agents.send("ann", "ann", "before")
    assert relay.scan()["discovered"] == 1
    clock.set(clock.now_ms() - 3_600_000)
    for text in ("after", "too many"):
        agents.send("ann", "ann", text)
    assert relay.scan()["discovered"] == 1
    assert events(relay) == [("clock_back", ""), ("rate_limited", "agents/ann")]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20, deadline=None)
@given(
    files=st.lists(
        st.tuples(st.sampled_from(["ann", "bob", "cid"]), st.sampled_from(["ann", "bob", "*", "#x", "eve"]),
                  st.none() | st.integers(0, 9), st.sampled_from([0, 99, 100, 5_000])),
        max_size=12,
    )
)  # fmt: skip
def test_every_file_ends_once(
    tmp_path_factory: pytest.TempPathFactory, files: list[tuple[str, str, int | None, int]]
) -> None:
    """Any files at any time: one row a file, one copy a recipient, one place in the archive, nothing left."""
    clock = Clock(1_768_053_600_000)
    root = tmp_path_factory.mktemp("relay")
    agents = Agents(root, clock)
    agents.join("ann", "bob", "cid")
    sent = []
    with RelayBus(root, clock=clock) as relay:
        for number, (sender, to, priority, age_ms) in enumerate(files):
            data = msgfile.format(msgfile.Message(to, str(number), priority=priority))
            sent.append((agents.put(sender, data, age_ms=age_ms), sender, to))
            if number % 3 == 2:
                relay.scan()
        for wait_ms in (100, 1_000, 2_000, 4_000):
            clock.set(clock.now_ms() + wait_ms)
            relay.scan()
        ledger = rows(relay)
        statuses = {row["status"] for row in ledger.values()}
    assert len(ledger) == len(files) and statuses <= {"archived", "failed"}
    expected = sorted(
        (agent, str(number))
        for number, (sender, to, _, _) in enumerate(files)
        for agent in ("ann", "bob", "cid")
        if agent == to or (to == "*" and agent != sender)
    )
    assert sorted((agent, body) for agent in ("ann", "bob", "cid") for body in agents.bodies(agent)) == expected
    assert sorted(path.name for path in root.glob("archive/*/*/*")) == sorted(path.name for path, _, _ in sent)
    assert list((root / "tmp").iterdir()) == []
