"""Claims: the holder of a message, for how long, and the word that it no longer is."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest

from refbus.comms.bus import CommsBus
from refbus.kernel.clock import Clock
from refbus.kernel.errors import InvalidArgument

T0_MS = 1_768_053_600_000  # where the clock of these tests stands
OpenBus = Callable[..., CommsBus]
Send = Callable[..., str]


def shown(bus: CommsBus, agent: str = "bob") -> list[str]:
    """The ids that an agent receives."""
    return [message["id"] for message in bus.receive_messages(agent, ["general"])["messages"]]


def test_the_visibility_time_out_is_an_option(open_bus: OpenBus) -> None:
    """In milliseconds, from 1 to ten years."""
    bus = open_bus(visibility_ms=5)
    sent = bus.send_message("alice", "bob", "note", {})["message_id"]
    assert bus.claim_message("bob", sent)["visible_at"] == "2026-01-10T14:00:00.005000Z"
    for wrong in (0, -1, True, 1.5, 2**53):
        with pytest.raises(InvalidArgument):
            open_bus(visibility_ms=wrong)


# -- strangers, who know only the seed's tables


def stranger_claims(stranger: sqlite3.Connection, message_id: str, at: str | None = "2026-01-10T14:00:00Z") -> bool:
    """The seed's claim_message."""
    return bool(
        stranger.execute(
            "UPDATE messages SET status = 'processing', last_delivered_at = ? WHERE id = ? AND status = 'pending'",
            (at, message_id),
        ).rowcount
    )


@pytest.mark.parametrize("at", ["2026-01-10T14:00:00Z", "2026-01-10T14:00:00", "2026-01-10T14:00:00.123456+00:00"])
def test_a_strangers_claim_lasts_as_long_as_ours(
    bus: CommsBus, send: Send, stranger: sqlite3.Connection, clock: Clock, at: str
) -> None:
    """However it writes its times; then the message is pending again (C2)."""
    sent = send()
    assert stranger_claims(stranger, sent, at)
    clock.set(T0_MS + 59_000)
    bus.cleanup_expired_messages()
    assert not shown(bus) and not bus.claim_message("bob", sent)
    clock.set(T0_MS + 62_000)
    bus.cleanup_expired_messages()
    assert shown(bus) == [sent]
    assert bus.claim_message("bob", sent)["claimed"]


def test_a_strangers_claim_without_a_time_is_over(bus: CommsBus, send: Send, stranger: sqlite3.Connection) -> None:
    """Nobody could say when it ends: for ever is the worst answer (C2)."""
    sent = send()
    assert stranger_claims(stranger, sent, None)
    bus.cleanup_expired_messages()
    assert shown(bus) == [sent]


@pytest.mark.parametrize("error", [None, "failed"])
def test_a_stranger_may_claim_what_is_due_again(
    bus: CommsBus, send: Send, stranger: sqlite3.Connection, clock: Clock, error: str | None
) -> None:
    """Our old delivery is over: the stranger's claim must not be taken for ours, which ended (C2)."""
    sent = send()
    bus.claim_message("bob", sent)
    if error:
        bus.complete_message(sent, error)
    clock.set(T0_MS + 60_000)
    bus.cleanup_expired_messages()
    assert stranger_claims(stranger, sent, "2026-01-10T14:01:00Z")
    assert shown(bus) == []
    assert not bus.claim_message("bob", sent)
    bus.cleanup_expired_messages()
    assert bus.dump()["messages"][0]["status"] == "processing"
    clock.set(T0_MS + 121_000)
    bus.cleanup_expired_messages()
    assert bus.claim_message("bob", sent)["delivery_count"] == 2


def test_a_claim_that_was_not_granted_is_false(bus: CommsBus, send: Send) -> None:
    """The seed's function returns a bool, and its agents write `if claim_message(…)`."""
    message_id = send()
    assert bus.claim_message("bob", message_id)
    refused = bus.claim_message("bob", message_id)
    assert not refused and refused["reason"] == "it is in somebody's hands"
    assert not bus.validate_message({})


def test_a_message_whose_status_another_program_wrote_is_not_claimed_and_the_reason_says_so(
    bus: CommsBus, send: Send
) -> None:
    """The seed's table takes any text."""
    sent = send()
    bus.store.db.write("UPDATE messages SET status = 'completed'")
    refused = bus.claim_message("bob", sent)
    assert not refused and refused["reason"] == "its status is 'completed'"
