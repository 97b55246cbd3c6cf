"""Sending: stored once and durably, paid for, and gone when its time has come."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refbus.comms.bus import CommsBus
from refbus.kernel.clock import Clock
from refbus.kernel.errors import IdConflict, InvalidArgument, RateLimited

T0_MS = 1_768_053_600_000  # where the clock of these tests stands
M1 = "00000000-0000-4000-8000-000000000001"
OpenBus = Callable[..., CommsBus]
Send = Callable[..., str]


def shown(bus: CommsBus, agent: str = "bob", *channels: str) -> list[str]:
    """The ids that an agent receives."""
    messages = bus.receive_messages(agent, list(channels) or ["general"], limit=1000)["messages"]
    return [message["id"] for message in messages]


# -- once


def test_the_same_message_again_is_the_first_one(bus: CommsBus, send: Send) -> None:
    """With the id chosen by the sender a retry is safe, and free."""
    for payload in ({"a": 1, "b": 2}, {"b": 2, "a": 1}):
        assert send(message_id=M1, payload=payload) == M1
    assert shown(bus) == [M1]
    assert bus.store.db.rows("SELECT tokens FROM token_buckets") == [(99.0,)]


@pytest.mark.parametrize(
    "change",
    [
        {"payload": {"a": 2}},
        {"payload": {"a": True}},
        {"message_type": "memo"},
        {"to_agent": None},
        {"to_agent": "carol"},
        {"from_agent": "mallory"},
        {"channel": "urgent"},
        {"priority": 6},
        {"correlation_id": "c"},
    ],
)
def test_the_same_id_with_other_content_is_a_conflict(bus: CommsBus, send: Send, change: dict[str, Any]) -> None:
    """Definite, and nothing is stored."""
    arguments = {"message_id": M1, "payload": {"a": 1}}
    send(**arguments)
    before = bus.dump()
    with pytest.raises(IdConflict) as caught:
        send(**{**arguments, **change})
    assert caught.value.definite
    assert bus.dump() == before


def bury(bus: CommsBus, message_id: str) -> None:
    """Three failures of bob."""
    for _ in range(3):
        bus.store.clock.set(bus.store.clock.now_ms() + 10_000)
        bus.claim_message("bob", message_id)
        bus.complete_message(message_id, "boom", "bob")


def finish(bus: CommsBus, message_id: str) -> None:
    """Done, expired, cleaned up."""
    bus.claim_message("bob", message_id)
    bus.complete_message(message_id, agent_id="bob")
    bus.store.clock.set(bus.store.clock.now_ms() + 3_600_000)
    assert bus.cleanup_expired_messages() == {"deleted": 1}


def redrive(bus: CommsBus, message_id: str) -> None:
    """A dead letter of a message that has expired since, put back for bob alone."""
    bury(bus, message_id)
    bus.store.clock.set(bus.store.clock.now_ms() + 3_600_000)
    (letter,) = bus.dead_letters()["dead_letters"]
    assert bus.redrive(letter["id"]) == {"redriven": True}


@pytest.mark.parametrize("to_agent", ["bob", None])
@pytest.mark.parametrize("becomes", [bury, finish, redrive])
def test_a_message_is_known_wherever_it_is_by_now(
    bus: CommsBus, send: Send, becomes: Callable[[CommsBus, str], None], to_agent: str | None
) -> None:
    """A dead letter, cleaned up, put back: a send that is tried again stores nothing (C16)."""
    arguments = {"to_agent": to_agent, "message_id": M1, "payload": {"b": 1, "a": 2}}
    becomes(bus, send(**arguments))
    before = bus.dump()
    assert send(**{**arguments, "payload": {"a": 2, "b": 1}}) == M1
    with pytest.raises(IdConflict):
        send(**{**arguments, "payload": {"a": 2.0, "b": 1}})
    assert bus.dump() == before


@pytest.mark.parametrize(
    "odd",
    [
        {"payload": b"\xff"},
        {"payload": "no JSON"},
        {"payload": '{"half": "\\ud800"}'},
        {"payload": '{"n": NaN}'},
        {"channel": b"\xff"},
        {"from_agent": b"\0", "type": b""},
        {"correlation_id": 5.5, "priority": b"x"},
    ],
)
def test_a_strangers_odd_row_is_cleaned_up_like_any_other(
    bus: CommsBus, stranger_sends: Send, odd: dict[str, Any]
) -> None:
    """And its id is taken."""
    stranger_sends(M1, expires_at="2026-01-10T13:59:59Z", **odd)
    assert bus.cleanup_expired_messages() == {"deleted": 1}
    with pytest.raises(IdConflict):
        bus.send_message("alice", "bob", "note", {}, message_id=M1)


def test_a_letter_that_a_stranger_wrote_keeps_its_id(bus: CommsBus, send: Send, stranger: sqlite3.Connection) -> None:
    """Where its content cannot be read, nothing is the same content."""
    stranger.execute("INSERT INTO dead_letter_queue VALUES (?, 'no JSON', 'e', 't', 3)", (M1,))
    with pytest.raises(IdConflict):
        send(message_id=M1)


@pytest.mark.parametrize("message_id", ["", "m1", 7, M1.replace("-", ""), "{" + M1 + "}"])
def test_an_id_is_a_uuid(send: Send, message_id: Any) -> None:
    """As the seed writes them (seed: Field Definitions)."""
    with pytest.raises(InvalidArgument):
        send(message_id=message_id)


@pytest.mark.parametrize("name", ["", "a/b", "..", "a\0", None, 5, "x" * 1025])
def test_a_sender_has_a_name(bus: CommsBus, name: Any) -> None:
    """One that could be part of a path (C9)."""
    with pytest.raises(InvalidArgument):
        bus.send_message(name, "bob", "note", {})
    if name is not None:
        with pytest.raises(InvalidArgument):
            bus.send_message("alice", name, "note", {})


# -- paid for


def test_the_101st_message_at_once_is_refused(bus: CommsBus, send: Send, clock: Clock) -> None:
    """100 tokens, 10 a second; each agent has its own bucket, and a refusal stores nothing (seed: Rate Limiting)."""
    for _ in range(100):
        send()
    before = bus.dump()
    with pytest.raises(RateLimited) as caught:
        send()
    assert caught.value.definite
    assert bus.dump() == before
    send(from_agent="carol")
    clock.set(T0_MS + 100)
    send()
    with pytest.raises(RateLimited):
        send()


def test_a_clock_that_was_set_back_keeps_no_bucket_shut(open_bus: OpenBus, clock: Clock) -> None:
    """Nobody waits until it has caught up: the bucket refills from the first refusal on."""
    for bus in (open_bus(rate_capacity=1), open_bus(rate_capacity=1)):
        clock.set(T0_MS + 3_600_000)
        bus.send_message("alice", None, "note", {})
        clock.set(T0_MS)
        with pytest.raises(RateLimited):
            bus.send_message("alice", None, "note", {})
        clock.set(T0_MS + 99)
        with pytest.raises(RateLimited):
            bus.send_message("alice", None, "note", {})
        clock.set(T0_MS + 100)
        bus.send_message("alice", None, "note", {})
        assert bus.dump()["integrity"] == "ok"


def test_the_bucket_is_the_agents_not_the_process(open_bus: OpenBus) -> None:
    """Two sessions of one agent share it; a clock that steps back fills nothing."""
    first, other = open_bus(rate_capacity=2), open_bus(rate_capacity=2)
    first.send_message("alice", "bob", "note", {})
    other.send_message("alice", "bob", "note", {})
    first.store.clock.set(T0_MS - 3_600_000)
    for bus in (first, other):
        with pytest.raises(RateLimited):
            bus.send_message("alice", "bob", "note", {})


# -- time


@pytest.mark.parametrize(("channel", "ttl_s"), [("general", 3600), ("urgent", 300), ("urgently", 3600)])
def test_a_message_lives_an_hour_an_urgent_one_five_minutes(
    bus: CommsBus, send: Send, clock: Clock, channel: str, ttl_s: int
) -> None:
    """At expires_at itself it is gone: not shown, not to be claimed (C13, C4)."""
    sent = send(channel=channel)
    clock.set(T0_MS + ttl_s * 1000 - 1)
    assert shown(bus, "bob", channel) == [sent]
    clock.set(T0_MS + ttl_s * 1000)
    assert shown(bus, "bob", channel) == []
    assert not bus.claim_message("bob", sent)


def test_the_time_to_live_can_be_chosen_and_none_is_for_ever(bus: CommsBus, send: Send, clock: Clock) -> None:
    """None only when asked (C13)."""
    for_ever, long = send(ttl_seconds=None), send(ttl_seconds=7200)
    send(ttl_seconds=0)
    clock.set(T0_MS + 7_199_999)
    assert shown(bus) == [for_ever, long]
    clock.set(T0_MS + 10**12)
    assert shown(bus) == [for_ever]
    for ttl in (-1, 1.5, True, "60", 10**12):
        with pytest.raises(InvalidArgument):
            send(ttl_seconds=ttl)


def test_cleanup_removes_what_has_expired_and_tells_how_many(bus: CommsBus, send: Send, clock: Clock) -> None:
    """Read, done or untouched; broadcasts too; and the counters follow (seed: cleanup_expired_messages; C12)."""
    kept, done = send(ttl_seconds=None), send()
    send()
    send(None)
    bus.claim_message("bob", done)
    bus.complete_message(done)
    assert bus.cleanup_expired_messages() == {"deleted": 0}
    clock.set(T0_MS + 3_600_000)
    assert bus.cleanup_expired_messages() == {"deleted": 3}
    assert bus.cleanup_expired_messages() == {"deleted": 0}
    dump = bus.dump()
    assert [row["id"] for row in dump["messages"]] == [kept]
    assert dump["deliveries"] == []
    assert bus.get_agent_health("bob")["messages_pending"] == 1


@pytest.mark.parametrize("to_agent", ["bob", None])
def test_what_somebody_works_on_is_not_cleaned_up(
    bus: CommsBus, send: Send, clock: Clock, to_agent: str | None
) -> None:
    """Its holder will want to complete it; a claim that is over keeps nothing (C2)."""
    sent = send(to_agent, ttl_seconds=30)
    bus.claim_message("bob", sent)
    clock.set(T0_MS + 59_999)
    assert bus.cleanup_expired_messages() == {"deleted": 0}
    clock.set(T0_MS + 60_000)
    assert bus.cleanup_expired_messages() == {"deleted": 1}
    assert bus.dump()["messages"] == []


def test_cleanup_succeeds_where_the_audit_trail_cannot_be_written(
    bus: CommsBus, send: Send, clock: Clock, store: Path
) -> None:
    """Done is done; the next one that can brings the trail up to date."""
    send()
    trail = store / ".claude" / "audit-trail.jsonl"
    trail.mkdir()
    clock.set(T0_MS + 3_600_000)
    assert bus.cleanup_expired_messages() == {"deleted": 1}
    trail.rmdir()
    assert bus.export_audit_trail() == {"exported": 2}


def test_a_clock_beyond_the_year_9999_is_refused_cleanly(bus: CommsBus, send: Send, clock: Clock) -> None:
    """INVALID_ARGUMENT, definite, nothing stored: an overflow would be a fault of the program."""
    clock.set(2**53)
    with pytest.raises(InvalidArgument):
        send()
    assert bus.dump()["messages"] == []


def test_a_strangers_rule_is_no_duplicate(bus: CommsBus, send: Send, stranger: sqlite3.Connection) -> None:
    """Only the same id is; a message that the file's own constraints refuse is refused, and nothing was paid."""
    stranger.execute(
        "CREATE TRIGGER no_spam BEFORE INSERT ON messages WHEN new.type = 'spam' "
        "BEGIN SELECT raise(ABORT, 'no spam'); END"
    )
    with pytest.raises(InvalidArgument, match="no spam"):
        send(message_type="spam", message_id=str(uuid.uuid4()))
    assert bus.dump()["messages"] == []
    assert bus.store.db.rows("SELECT * FROM token_buckets") == []
