"""Failures: again a little later, a dead letter at the third, and the way back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from refbus.comms.bus import CommsBus
from refbus.comms.log import Log, Sent
from refbus.kernel.clock import Clock
from refbus.kernel.errors import InvalidArgument, IoError, NotClaimed, PayloadTooLarge, RateLimited

T0_MS = 1_768_053_600_000  # where the clock of these tests stands
OpenBus = Callable[..., CommsBus]
Send = Callable[..., str]


def test_a_dead_broadcast_stays_dead_when_it_is_gone(open_bus: OpenBus) -> None:
    """For the agent whose letter lies in the queue; nobody else had it."""
    bus = open_bus(retry_jitter=1.0)
    message_id = bus.send_message("alice", None, "note", {}, ttl_seconds=3600)["message_id"]
    assert fail(bus, message_id) == "dead"
    clock = bus.store.clock
    clock.set(clock.now_ms() + 3_600_000)
    assert bus.cleanup_expired_messages() == {"deleted": 1}
    assert bus.complete_message(message_id, agent_id="bob") == {"status": "dead"}
    for agent in (None, "carol"):
        with pytest.raises(NotClaimed):
            bus.complete_message(message_id, agent_id=agent)


def shown(bus: CommsBus, agent: str = "bob") -> list[dict[str, Any]]:
    """The messages that an agent receives."""
    return bus.receive_messages(agent, ["general"])["messages"]  # type: ignore[no-any-return]


def fail(bus: CommsBus, message_id: str, agent: str = "bob", times: int = 3) -> str:
    """Claim and fail, each time as soon as it may be claimed; the last status."""
    status = ""
    for _ in range(times):
        bus.store.clock.set(bus.store.clock.now_ms() + 10_000)
        assert bus.claim_message(agent, message_id)["claimed"]
        status = bus.complete_message(message_id, "boom", agent)["status"]
    return status


@pytest.mark.parametrize("to_agent", ["bob", None])
def test_a_failed_message_comes_again_after_a_delay_that_doubles(
    bus: CommsBus, send: Send, clock: Clock, to_agent: str | None
) -> None:
    """1 s, then 2 s, here with jitter 1; until then it is nobody's (C1)."""
    sent, at_ms = send(to_agent), T0_MS
    for delay_ms in (1000, 2000):
        bus.claim_message("bob", sent)
        assert bus.complete_message(sent, "boom", "bob")["status"] == "failed"
        clock.set(at_ms + delay_ms - 1)
        assert not shown(bus) and not bus.claim_message("bob", sent)
        at_ms += delay_ms
        clock.set(at_ms)
        assert [message["id"] for message in shown(bus)] == [sent]


def test_the_delay_is_spread_by_jitter(open_bus: OpenBus) -> None:
    """From a half to one and a half, unless the source is given (C1)."""
    bus = open_bus(retry_jitter=None)
    for _ in range(20):
        sent = bus.send_message("alice", "bob", "note", {})["message_id"]
        bus.claim_message("bob", sent)
        bus.complete_message(sent, "boom")
    dues = {row["visible_at"] for row in bus.dump()["deliveries"]}
    assert len(dues) > 1
    assert min(dues) >= "2026-01-10T14:00:00.500000Z" and max(dues) <= "2026-01-10T14:00:01.500000Z"


def test_the_third_failure_moves_it_to_the_dead_letter_queue(bus: CommsBus, send: Send) -> None:
    """With the whole message, the error, the time and the deliveries; no row stays (C1; seed: Dead Letter Queue)."""
    sent = send(payload={"a": 1}, correlation_id="c", priority=7)
    assert fail(bus, sent, times=2) == "failed"
    assert bus.dead_letters() == {"dead_letters": []}
    assert fail(bus, sent, times=1) == "dead"
    (letter,) = bus.dead_letters()["dead_letters"]
    assert letter == {
        "id": sent,
        "error": "boom",
        "moved_at": "2026-01-10T14:00:30.000000Z",
        "retry_count": 3,
        "original_message": {
            "id": sent,
            "type": "note",
            "version": "1.0",
            "timestamp": "2026-01-10T14:00:00.000000Z",
            "correlation_id": "c",
            "from_agent": "alice",
            "to_agent": "bob",
            "channel": "general",
            "priority": 7,
            "payload": {"a": 1},
            "created_at": "2026-01-10T14:00:00.000000Z",
            "expires_at": "2026-01-10T15:00:00.000000Z",
        },
    }
    dump = bus.dump()
    assert dump["messages"] == dump["deliveries"] == shown(bus) == []
    assert not bus.claim_message("bob", sent)
    assert bus.complete_message(sent) == {"status": "dead"}


def test_a_claim_that_timed_out_is_no_failure(bus: CommsBus, send: Send, clock: Clock) -> None:
    """Only errors count; deliveries are counted all the same (C1, C2)."""
    sent = send(ttl_seconds=None)
    for n in range(1, 6):
        assert bus.claim_message("bob", sent)["delivery_count"] == n
        clock.set(clock.now_ms() + 60_000)
    assert fail(bus, sent, times=2) == "failed"
    assert fail(bus, sent, times=1) == "dead"
    assert bus.dead_letters()["dead_letters"][0]["retry_count"] == 8


@pytest.mark.parametrize("agent", ["bob", "team:bob", ":"])
def test_a_broadcast_dies_for_one_agent_alone_and_comes_back_to_it(bus: CommsBus, send: Send, agent: str) -> None:
    """Its letter is that agent's, whose name may hold a colon (C3)."""
    sent = send(None)
    assert fail(bus, sent, agent) == "dead"
    assert shown(bus, agent) == []
    assert [message["id"] for message in shown(bus, "carol")] == [sent]
    (letter,) = bus.dead_letters()["dead_letters"]
    assert bus.redrive(letter["id"]) == {"redriven": True}
    assert [message["id"] for message in shown(bus, agent)] == [sent]
    assert bus.claim_message(agent, sent)["delivery_count"] == 1


@pytest.mark.parametrize("is_cleaned_up", [True, False])
def test_a_broadcast_that_is_gone_comes_back_to_one_agent(
    bus: CommsBus, send: Send, clock: Clock, is_cleaned_up: bool
) -> None:
    """To nobody else: the others had their time, whether its row is still there or not."""
    sent = send(None)
    fail(bus, sent, "team:bob")
    clock.set(T0_MS + 3_600_000)
    if is_cleaned_up:
        assert bus.cleanup_expired_messages() == {"deleted": 1}
    (letter,) = bus.dead_letters()["dead_letters"]
    bus.redrive(letter["id"])
    assert [(m["id"], m["to_agent"]) for m in shown(bus, "team:bob")] == [(sent, "team:bob")]
    assert shown(bus, "bob") == shown(bus, "carol") == []


def test_a_broadcast_that_is_gone_comes_back_to_one_agent_at_a_time(bus: CommsBus, send: Send, clock: Clock) -> None:
    name = send(to_agent=None, ttl_seconds=600)
    letters = {agent: _letter_of(bus, name, agent) for agent in ("bob", "cy")}
    clock.set(clock.now_ms() + 600_000)
    assert bus.redrive(letters["bob"]) == {"redriven": True}
    assert bus.redrive(letters["cy"]) == {"redriven": False}
    assert [letter["id"] for letter in bus.dead_letters()["dead_letters"]] == [letters["cy"]]
    clock.set(clock.now_ms() + 600_000)
    bus.cleanup_expired_messages()
    assert bus.redrive(letters["cy"]) == {"redriven": True}
    assert [message["id"] for message in shown(bus, "cy")] == [name]


def test_a_broadcast_that_is_gone_comes_back_to_the_next_once_one_is_done(
    bus: CommsBus, send: Send, clock: Clock
) -> None:
    """It is still known by the content that its sender gave (C16)."""
    m1 = "00000000-0000-4000-8000-000000000001"
    name = send(to_agent=None, ttl_seconds=600, message_id=m1)
    letters = {agent: _letter_of(bus, name, agent) for agent in ("bob", "cy")}
    clock.set(clock.now_ms() + 600_000)
    bus.cleanup_expired_messages()
    bus.redrive(letters["bob"])
    bus.claim_message("bob", name)
    assert bus.redrive(letters["cy"]) == {"redriven": False}
    bus.complete_message(name)
    assert bus.redrive(letters["cy"]) == {"redriven": True}
    assert [message["id"] for message in shown(bus, "cy")] == [name]
    assert (shown(bus, "bob"), bus.dead_letters()["dead_letters"]) == ([], [])
    assert bus.claim_message("cy", name)["delivery_count"] == 1
    assert [row["agent_id"] for row in bus.dump()["deliveries"]] == ["cy"]
    assert send(to_agent=None, message_id=m1) == name


def test_a_time_to_live_does_not_grow_by_redrives(bus: CommsBus, send: Send, clock: Clock) -> None:
    name = send(to_agent=None, ttl_seconds=600)
    first = _letter_of(bus, name, "bob")
    clock.set(clock.now_ms() + 500_000)
    bus.redrive(first)
    second = _letter_of(bus, name, "cy")
    bus.redrive(second)
    clock.set(clock.now_ms() + 599_999)
    assert shown(bus, "cy")
    clock.set(clock.now_ms() + 1)
    assert not shown(bus, "cy")


def _letter_of(bus: CommsBus, name: str, agent: str) -> str:
    fail(bus, name, agent)
    return f"{name}:{agent}"


def test_a_broadcast_that_lives_gets_its_time_anew(bus: CommsBus, send: Send, clock: Clock) -> None:
    """For all: there is one row, and one agent's letter must not expire unseen."""
    sent = send(None)
    fail(bus, sent, "bob")
    clock.set(T0_MS + 3_599_000)
    (letter,) = bus.dead_letters()["dead_letters"]
    bus.redrive(letter["id"])
    clock.set(T0_MS + 2 * 3_599_000)
    assert [message["id"] for message in shown(bus, "bob")] == [sent]


def test_a_redriven_message_begins_anew(bus: CommsBus, send: Send, clock: Clock) -> None:
    """Pending, nothing counted, its time to live from now; the letter is gone."""
    sent = send(payload={"a": 1}, ttl_seconds=100)
    (before,) = shown(bus)
    fail(bus, sent)
    clock.set(T0_MS + 500_000)
    assert bus.redrive(sent) == {"redriven": True}
    assert bus.redrive(sent) == {"redriven": False}
    assert bus.dead_letters() == {"dead_letters": []}
    assert shown(bus) == [before]
    assert bus.get_agent_health("bob")["messages_pending"] == 1
    clock.set(T0_MS + 599_999)
    assert bus.claim_message("bob", sent)["delivery_count"] == 1
    bus.complete_message(sent, "boom")
    assert bus.dead_letters() == {"dead_letters": []}
    clock.set(T0_MS + 600_001)
    assert shown(bus) == []


def test_a_redriven_message_can_die_again(bus: CommsBus, send: Send) -> None:
    """After three more failures."""
    sent = send()
    for _ in range(2):
        assert fail(bus, sent) == "dead"
        assert bus.redrive(sent) == {"redriven": True}
    assert len(shown(bus)) == 1


def test_letters_of_one_gone_broadcast_are_kept_beside_each_other(bus: CommsBus, send: Send, clock: Clock) -> None:
    """It came back to bob alone, then to carol alone: a letter of one is not lost when it dies for the other."""
    sent = send(None, ttl_seconds=600)
    for agent in ("bob", "carol"):
        fail(bus, sent, agent)
    clock.set(T0_MS + 700_000)
    bus.cleanup_expired_messages()
    for agent in ("bob", "carol"):
        assert bus.redrive(f"{sent}:{agent}") == {"redriven": True}
        fail(bus, sent, agent)
    letters = bus.dead_letters()["dead_letters"]
    assert [(letter["id"], letter["original_message"]["to_agent"]) for letter in letters] == [
        (sent, "bob"),
        (f"{sent}:carol", "carol"),
    ]
    assert bus.redrive(f"{sent}:carol") == {"redriven": True}
    assert [message["id"] for message in shown(bus, "carol")] == [sent]


def test_a_damaged_payload_is_buried_as_it_was_found(bus: CommsBus, stranger_sends: Send) -> None:
    """A reader of the letter looks for just that; redriven, it is the same again."""
    stranger_sends("s1", payload="{no JSON")
    fail(bus, "s1")
    (letter,) = bus.dead_letters()["dead_letters"]
    assert letter["original_message"]["payload"] == "{no JSON"
    bus.redrive("s1")
    assert bus.dump()["messages"][0]["payload"] == "{no JSON"


def test_a_strangers_letter_is_redriven_too(bus: CommsBus, stranger: sqlite3.Connection) -> None:
    """It holds the envelope alone, as in the seed's listing; its broadcast goes back to everybody."""
    envelope = {
        "id": "s1",
        "type": "note",
        "version": "1.0",
        "timestamp": "2026-01-10T14:00:00Z",
        "from_agent": "nim",
        "channel": "general",
        "priority": 5,
        "payload": {"a": 1},
    }
    for message in ({**envelope, "to_agent": "bob"}, {**envelope, "id": "s2", "to_agent": None}):
        stranger.execute(
            "INSERT INTO dead_letter_queue VALUES (?, ?, 'boom', '2026-01-10T14:00:00Z', 3)",
            (message["id"], json.dumps(message)),
        )
        assert bus.redrive(message["id"]) == {"redriven": True}
    assert [(m["id"], m["payload"]) for m in shown(bus)] == [("s1", {"a": 1}), ("s2", {"a": 1})]
    assert [m["id"] for m in shown(bus, "carol")] == ["s2"]
    assert bus.get_agent_health("bob")["messages_pending"] == 1


@pytest.mark.parametrize("text", ["{no JSON", "[]", '{"id": "s1"}', "[" * 100_000, "NaN"])
def test_a_letter_that_holds_no_message_stays_where_it_is(
    bus: CommsBus, stranger: sqlite3.Connection, text: str
) -> None:
    """Shown as it is, refused cleanly."""
    stranger.execute("INSERT INTO dead_letter_queue VALUES ('s1', ?, 'boom', '2026', 3)", (text,))
    with pytest.raises(InvalidArgument) as caught:
        bus.redrive("s1")
    assert caught.value.definite
    assert [letter["id"] for letter in bus.dead_letters()["dead_letters"]] == ["s1"]
    with pytest.raises(InvalidArgument):
        bus.redrive("")


# -- sending in spite of errors


class LosesAnswers(Log):
    """Stores every message, and twice loses the answer to its sender."""

    stored: tuple[str, ...] = ()

    def send_message(self, *args: Any, **fields: Any) -> Sent:
        self.stored = (*self.stored, super().send_message(*args, **fields)["message_id"])
        if len(self.stored) < 3:
            raise IoError("the answer was lost")
        return {"message_id": self.stored[-1]}


@pytest.mark.parametrize("arguments", [{"message_type": "note", "payload": {}}, {"from_agent": "ann", "x": 1}])
def test_fields_missing_and_unknown_are_refused_definitely(bus: CommsBus, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        bus.send_with_retry(**arguments)


@pytest.mark.parametrize("unknown", [{}, {"message_id": None}])
def test_every_attempt_carries_the_same_id(bus: CommsBus, unknown: dict[str, Any]) -> None:
    """So that a send whose answer was lost is not doubled."""
    log = bus.retries.log = LosesAnswers(bus.store, bus.audit, bus.presence, bus.rate, bus.votes)
    sent = bus.send_with_retry(3, 0.0, from_agent="alice", to_agent="bob", message_type="note", payload={}, **unknown)
    assert log.stored == (sent["message_id"],) * 3
    assert [message["id"] for message in shown(bus)] == [sent["message_id"]]


def test_it_gives_up_after_the_last_attempt_with_the_last_error(open_bus: OpenBus) -> None:
    """Three unless said otherwise; an error that no time can mend is raised at once (seed: send_with_retry)."""
    bus = open_bus(rate_capacity=0.0)
    with pytest.raises(RateLimited):
        bus.send_with_retry(base_delay=0.0, from_agent="alice", to_agent="bob", message_type="note", payload={})
    good = {"from_agent": "alice", "to_agent": "bob", "message_type": "note", "payload": {}}
    hopeless = {InvalidArgument: {"from_agent": "a/b"}, PayloadTooLarge: {"payload": {"n": "x" * 5_000_000}}}
    for error, wrong in hopeless.items():
        with pytest.raises(error):
            bus.send_with_retry(3, 3600.0, **good | wrong)


@pytest.mark.parametrize("wrong", [{"to_agent": "bob"}, {"from_agent": "alice", "to": "bob"}])
def test_its_arguments_are_those_of_a_send(bus: CommsBus, wrong: dict[str, Any]) -> None:
    """One that is missing or unknown is refused, and nothing is sent."""
    with pytest.raises(InvalidArgument) as caught:
        bus.send_with_retry(message_type="note", payload={}, **wrong)
    assert caught.value.definite
    assert bus.dump()["messages"] == []


def test_the_delays_double_from_the_base(bus: CommsBus) -> None:
    """base × 2^n × jitter, none after the last attempt (seed: Retry Strategy)."""
    assert bus.retry_delays() == {"delays_s": [1.0, 2.0]}
    assert bus.retry_delays(5, 0.5, 1.5) == {"delays_s": [0.75, 1.5, 3.0, 6.0]}
    assert bus.retry_delays(1) == {"delays_s": []}
    for wrong in ({"max_attempts": 0}, {"max_attempts": True}, {"base_delay": -1}, {"jitter": "1"}):
        with pytest.raises(InvalidArgument):
            bus.retry_delays(**wrong)  # type: ignore[arg-type]


def test_a_completion_that_comes_after_the_burial_is_told_so(bus: CommsBus, send: Send) -> None:
    """A message that died says dead; one that never was is not claimed."""
    fail(bus, sent := send())
    assert bus.complete_message(sent, "again") == {"status": "dead"}
    with pytest.raises(NotClaimed):
        bus.complete_message("unknown")
