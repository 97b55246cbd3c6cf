"""Claims: the holder of a message, for how long, and the word that it no longer is."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from typing import Any

import pytest

from refbus.comms.bus import CommsBus
from refbus.kernel.clock import Clock
from refbus.kernel.errors import InvalidArgument, NotClaimed

T0_MS = 1_768_053_600_000  # where the clock of these tests stands
OpenBus = Callable[..., CommsBus]
Send = Callable[..., str]


def shown(bus: CommsBus, agent: str = "bob") -> list[str]:
    """The ids that an agent receives."""
    return [message["id"] for message in bus.receive_messages(agent, ["general"])["messages"]]


def test_a_claimed_message_is_in_one_agents_hands(bus: CommsBus, send: Send) -> None:
    """processing, counted, not shown, not to be claimed again (seed: claim_message)."""
    sent = send()
    assert bus.claim_message("bob", sent) == {
        "claimed": True,
        "delivery_count": 1,
        "visible_at": "2026-01-10T14:01:00.000000Z",
    }
    assert not bus.claim_message("bob", sent)
    assert shown(bus) == []
    (row,) = bus.dump()["messages"]
    assert (row["status"], row["delivery_count"], row["last_delivered_at"]) == (
        "processing",
        1,
        "2026-01-10T14:00:00.000000Z",
    )


def test_only_the_addressee_may_claim(bus: CommsBus, send: Send) -> None:
    """Not its sender either; and nothing that is not there (C4)."""
    sent = send("bob")
    for agent, message_id in (("carol", sent), ("alice", sent), ("bob", "unknown")):
        assert not bus.claim_message(agent, message_id)
    assert shown(bus) == [sent]


def test_each_agent_claims_and_completes_a_broadcast_for_itself(bus: CommsBus, send: Send) -> None:
    """One agent's complete hides it from nobody else; the row stays pending (C3)."""
    sent = send(None)
    assert bus.claim_message("bob", sent)["delivery_count"] == 1
    assert shown(bus, "bob") == [] and shown(bus, "carol") == [sent]
    assert bus.complete_message(sent, agent_id="bob") == {"status": "done"}
    assert shown(bus, "bob") == [] and shown(bus, "carol") == [sent]
    assert bus.claim_message("carol", sent)["delivery_count"] == 1
    assert not bus.claim_message("bob", sent)
    assert bus.dump()["messages"][0]["status"] == "pending"


def test_completing_a_broadcast_needs_a_name(bus: CommsBus, send: Send) -> None:
    """And that agent's own claim."""
    sent = send(None)
    bus.claim_message("bob", sent)
    with pytest.raises(InvalidArgument):
        bus.complete_message(sent)
    with pytest.raises(NotClaimed):
        bus.complete_message(sent, agent_id="carol")


def test_what_nobody_claimed_cannot_be_completed(bus: CommsBus, send: Send) -> None:
    """The same goes for another's message, and for one that is not there; all definite."""
    sent = send()
    for arguments in ({}, {"agent_id": "bob"}, {"agent_id": "carol"}, {"delivery_count": 1}, {"error": "x"}):
        with pytest.raises(NotClaimed) as caught:
            bus.complete_message(sent, **arguments)  # type: ignore[arg-type]
        assert caught.value.definite
    bus.claim_message("bob", sent)
    for message_id, agent in ((sent, "carol"), ("unknown", None)):
        with pytest.raises(NotClaimed):
            bus.complete_message(message_id, agent_id=agent)


def test_what_is_done_stays_done(bus: CommsBus, send: Send) -> None:
    """A second completion changes nothing, an error neither (seed: complete_message)."""
    sent = send()
    bus.claim_message("bob", sent)
    for arguments in ({}, {}, {"error": "too late"}):
        assert bus.complete_message(sent, **arguments) == {"status": "done"}
    assert shown(bus) == []
    assert not bus.claim_message("bob", sent)
    health = bus.get_agent_health("bob")
    assert (health["messages_processed"], health["error_count"]) == (1, 0)


@pytest.mark.parametrize("to_agent", ["bob", None])
def test_a_claim_ends_after_its_visibility_time_out(
    bus: CommsBus, send: Send, clock: Clock, to_agent: str | None
) -> None:
    """60 s; at visible_at itself it may be claimed again, and its deliveries are counted on (C2)."""
    sent = send(to_agent)
    bus.claim_message("bob", sent)
    clock.set(T0_MS + 59_999)
    assert shown(bus) == [] and not bus.claim_message("bob", sent)["claimed"]
    clock.set(T0_MS + 60_000)
    assert shown(bus) == [sent]
    assert bus.claim_message("bob", sent)["delivery_count"] == 2


def test_the_visibility_time_out_is_an_option(open_bus: OpenBus) -> None:
    """In milliseconds, from 1 to ten years."""
    bus = open_bus(visibility_ms=5)
    sent = bus.send_message("alice", "bob", "note", {})["message_id"]
    assert bus.claim_message("bob", sent)["visible_at"] == "2026-01-10T14:00:00.005000Z"
    for wrong in (0, -1, True, 1.5, 2**53):
        with pytest.raises(InvalidArgument):
            open_bus(visibility_ms=wrong)


@pytest.mark.parametrize("to_agent", ["bob", None])
def test_a_holder_that_slept_through_its_claim_is_told_so(
    bus: CommsBus, send: Send, clock: Clock, to_agent: str | None
) -> None:
    """delivery_count is the fencing token: an older one is refused, the latest is not."""
    sent = send(to_agent)
    slept = bus.claim_message("bob", sent)["delivery_count"]
    clock.set(T0_MS + 60_000)
    latest = bus.claim_message("bob", sent)["delivery_count"]
    for stale in (slept, latest + 1):
        with pytest.raises(NotClaimed):
            bus.complete_message(sent, agent_id="bob", delivery_count=stale)
    assert bus.complete_message(sent, agent_id="bob", delivery_count=latest) == {"status": "done"}


def test_of_many_at_once_one_gets_it(bus: CommsBus, send: Send) -> None:
    """Real threads, a connection each (seed: Claim atomicity 100 %)."""
    for _ in range(20):
        sent = send()
        claimed: list[bool] = []
        gate = threading.Barrier(4)

        def claim(sent: str = sent, claimed: list[bool] = claimed, gate: threading.Barrier = gate) -> None:
            gate.wait()
            claimed.append(bus.claim_message("bob", sent)["claimed"])

        threads = [threading.Thread(target=claim) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(claimed) == [False, False, False, True]


@pytest.mark.parametrize("name", ["", "a/b", "..", "a\0", None, 5, True])
def test_bad_arguments_are_refused(bus: CommsBus, send: Send, name: Any) -> None:
    """With nothing changed."""
    sent = send()
    before = bus.dump()
    with pytest.raises(InvalidArgument):
        bus.claim_message(name, sent)
    for arguments in (
        {"delivery_count": 0},
        {"delivery_count": True},
        {"error": ""},
        {"error": 5},
        {"error": "a\0"},
        {"error": "\ud800"},
        {"error": "x" * 65_537},
    ):
        with pytest.raises(InvalidArgument):
            bus.complete_message(sent, **arguments)  # type: ignore[arg-type]
    assert bus.dump() == before


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
