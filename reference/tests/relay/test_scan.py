"""Which files become messages, when, and the end of the others (2.2, 2.3, 6.1, 6.5; R3, R8, R9, R10)."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest
from reference.tests.relay.conftest import Agents, OpenRelay, events, permissions_count, rows

from refbus.kernel.clock import Clock
from refbus.kernel.errors import BusError, InvalidArgument
from refbus.relay.bus import RelayBus
from refbus.relay.mailbox import Mailbox


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


def test_a_sparse_gigabyte_costs_nothing(relay: RelayBus, agents: Agents) -> None:
    """It is too large."""
    path = agents.put("ann", b"TO: ann\n\n")
    os.truncate(path, 1 << 30)
    agents.age(path, 1_000)
    relay.scan()
    (row,) = rows(relay).values()
    assert row["last_error"].startswith("too_large")


def test_a_name_that_is_no_utf_8_is_refused_as_well(relay: RelayBus, agents: Agents) -> None:
    """And recorded so that it can be read."""
    agents.join("ann")
    with open(os.fsencode(agents.outbox("ann")) + b"/\xff.msg", "wb"):
        pass
    relay.scan()
    assert events(relay) == [("bad_file_name", "agents/ann/outbox/\\udcff.msg")]


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


def test_an_inbox_that_is_a_link_gets_nothing(relay: RelayBus, agents: Agents, tmp_path: Path) -> None:
    """From the start or later: the messages are done, and their copies failed."""
    outside = tmp_path / "outside"
    outside.mkdir()
    agents.join("bob", "cid")
    inboxes = [agents.root / "agents" / name / "inbox" for name in ("bob", "cid")]
    inboxes[0].symlink_to(outside, target_is_directory=True)
    for _ in range(2):
        sent = agents.send("ann", "bob", "secret")
        agents.send("ann", "*", "secret")
        relay.scan()
        outcome = Mailbox(agents.root, "ann").outcome(sent)
        assert (bool(outcome), outcome["status"], outcome["error"]) == (False, "archived", "inbox_lost: bob")
        if not inboxes[1].is_symlink():
            inboxes[1].rename(tmp_path / "taken")
            inboxes[1].symlink_to(outside, target_is_directory=True)
    assert list(outside.iterdir()) == []
    assert {row["status"] for row in rows(relay).values()} == {"archived"}
    copies = [(row["agent_name"], row["status"], row["last_error"]) for row in rows(relay, "inbox").values()]
    lost = [(name, "failed", "inbox_lost") for name in ("bob", "bob", "bob", "bob", "cid")]
    assert sorted(copies, key=repr) == sorted([*lost, ("cid", "completed", None)], key=repr)
    assert events(relay) == [("symlink", f"agents/{name}/inbox") for name in ("bob", "cid")]


def test_a_message_that_comes_at_its_second_attempt_is_done(relay: RelayBus, agents: Agents) -> None:
    """Though the ledger keeps what the first attempt failed of."""
    sent = agents.send("ann", "late", "hello")
    relay.scan()
    waits = Mailbox(agents.root, "ann").outcome(sent)
    assert (bool(waits), waits["status"], waits["error"]) == (False, "pending", "unknown_agent: late")
    agents.join("late")
    agents.clock.set(agents.clock.now_ms() + 60_000)
    relay.scan()
    assert agents.bodies("late") == ["hello"]
    outcome = Mailbox(agents.root, "ann").outcome(sent)
    assert (bool(outcome), outcome["status"], outcome["error"]) == (True, "archived", None)
    assert [row["last_error"] for row in rows(relay).values()] == ["unknown_agent: late"]


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
