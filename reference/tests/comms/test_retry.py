"""Failures: again a little later, a dead letter at the third, and the way back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from refbus.comms.bus import CommsBus
from refbus.comms.log import Log, Sent
from refbus.kernel.errors import InvalidArgument, IoError

OpenBus = Callable[..., CommsBus]
Send = Callable[..., str]


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


class LosesAnswers(Log):
    """Stores every message, and twice loses the answer to its sender."""

    stored: tuple[str, ...] = ()

    def send_message(self, *args: Any, **fields: Any) -> Sent:
        self.stored = (*self.stored, super().send_message(*args, **fields)["message_id"])
        if len(self.stored) < 3:
            raise IoError("the answer was lost")
        return {"message_id": self.stored[-1]}


@pytest.mark.parametrize("unknown", [{}, {"message_id": None}])
def test_every_attempt_carries_the_same_id(bus: CommsBus, unknown: dict[str, Any]) -> None:
    """So that a send whose answer was lost is not doubled."""
    log = bus.retries.log = LosesAnswers(bus.store, bus.audit, bus.presence, bus.rate, bus.votes)
    sent = bus.send_with_retry(3, 0.0, from_agent="alice", to_agent="bob", message_type="note", payload={}, **unknown)
    assert log.stored == (sent["message_id"],) * 3
    assert [message["id"] for message in shown(bus)] == [sent["message_id"]]
