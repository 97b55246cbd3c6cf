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
Send = Callable[..., str]
OpenBus = Callable[..., CommsBus]


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


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800", object()])
def test_a_payload_of_what_is_no_json_is_refused(bus: CommsBus, value: Any) -> None:
    """NaN first of all, which no line of a driver can hold (C10)."""
    with pytest.raises(InvalidArgument):
        bus.send_message("alice", "bob", "note", {"x": value})
    assert bus.dump()["messages"] == []


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
