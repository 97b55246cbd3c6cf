"""Question and answer: found by its correlation id, in time or not at all."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from refbus.comms.bus import CommsBus
from refbus.kernel.clock import Clock
from refbus.kernel.errors import InvalidArgument, NotClaimed, TimedOut

OpenBus = Callable[..., CommsBus]
Send = Callable[..., str]
M1 = "00000000-0000-4000-8000-000000000001"


def shown(bus: CommsBus, agent: str) -> list[dict[str, Any]]:
    """The messages that an agent receives."""
    return bus.receive_messages(agent, ["general"])["messages"]  # type: ignore[no-any-return]


def answer_one(bus: CommsBus, agent: str, payload: dict[str, Any]) -> None:
    """The seed's responder: wait for a request, claim it, answer it, complete it."""
    (request,) = bus.receive_messages(agent, ["general"], 1, 60)["messages"]
    assert bus.claim_message(agent, request["id"])["claimed"]
    bus.send_response(request, payload, agent_id=agent)
    bus.complete_message(request["id"], agent_id=agent)


def test_a_request_gets_its_answer(bus: CommsBus, open_bus: OpenBus, send: Send) -> None:
    """From another thread; claimed and completed for the asker, other mail untouched (seed: Request/Response)."""
    other_mail = [send("alice", from_agent="carol", priority=10) for _ in range(11)]
    responder = threading.Thread(target=answer_one, args=(open_bus(), "bob", {"context": {"branch": "main"}}))
    responder.start()
    reply = bus.request("alice", "bob", "context.query", {"query": "q"}, timeout_seconds=60)["response"]
    responder.join(30)
    assert (reply["type"], reply["from_agent"], reply["to_agent"]) == ("context.response", "bob", "alice")
    assert reply["payload"] == {"context": {"branch": "main"}}
    assert [m["id"] for m in bus.receive_messages("alice", ["general"], 100)["messages"]] == other_mail
    assert shown(bus, "bob") == []
    assert bus.get_agent_health("alice")["messages_processed"] == 1


def test_a_request_times_out_and_stays_sent(bus: CommsBus) -> None:
    """TIMEOUT is not definite: the request may still be answered (seed: TimeoutError)."""
    with pytest.raises(TimedOut) as caught:
        bus.request("alice", "bob", "note", {}, timeout_seconds=0.01)
    assert not caught.value.definite
    (request,) = shown(bus, "bob")
    bus.send_response(request, {})
    (late,) = shown(bus, "alice")
    assert late["correlation_id"] == request["correlation_id"]


def test_an_answer_whose_claim_ran_out_is_taken(bus: CommsBus, send: Send, clock: Clock) -> None:
    """Another of the asker's sessions took it first, and let it go: it is there again, as receive_messages shows it."""
    request = send(correlation_id="c")
    bus.send_response(shown(bus, "bob")[0], {"n": 1})
    (answer,) = shown(bus, "alice")
    bus.claim_message("alice", answer["id"])
    assert bus.requests.take_answer("alice", "c", request) is None
    clock.set(clock.now_ms() + 60_000)
    assert shown(bus, "alice") == [answer]
    assert bus.requests.take_answer("alice", "c", request) == answer
    assert shown(bus, "alice") == []


def test_an_answer_to_another_request_is_not_taken(bus: CommsBus, open_bus: OpenBus, send: Send) -> None:
    """The same goes for one from the asker itself under the same correlation id."""
    send("alice", from_agent="bob", correlation_id="another")
    with pytest.raises(TimedOut):
        bus.request("alice", "alice", "note", {}, timeout_seconds=0.01)
    assert len(shown(bus, "alice")) == 2


def test_a_response_mirrors_its_request(bus: CommsBus, send: Send) -> None:
    """Sender, channel, priority and correlation id; without one the request's id stands in (seed: send_response)."""
    for fields in ({"correlation_id": "req-001"}, {}):
        send("bob", channel="urgent", priority=9, message_type="build", **fields)
    for request in bus.receive_messages("bob", ["urgent"])["messages"]:
        bus.send_response(request, {"ok": True}, artifact_path=".claude/artifacts/bob/t/result.json")
    replies = bus.receive_messages("alice", ["urgent"])["messages"]
    asked = bus.receive_messages("bob", ["urgent"])["messages"]
    assert [reply["correlation_id"] for reply in replies] == ["req-001", asked[1]["id"]]
    for reply in replies:
        assert (reply["type"], reply["from_agent"], reply["priority"]) == ("build.response", "bob", 9)
        assert reply["payload"] == {"ok": True, "artifact_path": ".claude/artifacts/bob/t/result.json"}


def test_a_broadcast_is_answered_by_its_claimer(bus: CommsBus, send: Send) -> None:
    """The original's to_agent is NULL and cannot be a sender (C5)."""
    send(None)
    (request,) = shown(bus, "bob")
    bus.claim_message("bob", request["id"])
    with pytest.raises(InvalidArgument):
        bus.send_response(request, {})
    bus.send_response(request, {}, agent_id="bob")
    (reply,) = [message for message in shown(bus, "alice") if message["to_agent"] == "alice"]
    assert reply["from_agent"] == "bob"


def test_nobody_answers_in_anothers_name(bus: CommsBus, send: Send) -> None:
    """A message is answered by its addressee, a broadcast by an agent that has claimed it (C26)."""
    for to_agent in ("bob", None):
        sent = send(to_agent)
        (request,) = [message for message in shown(bus, "bob") if message["id"] == sent]
        before = bus.dump()
        with pytest.raises(NotClaimed) as caught:
            bus.send_response(request, {}, agent_id="carol")
        assert caught.value.definite
        assert bus.dump() == before


def test_an_answer_to_a_broadcast_may_come_late_and_twice(bus: CommsBus, send: Send, clock: Clock) -> None:
    """After the completion; and as a retry also when the broadcast is gone."""
    send(None)
    (request,) = shown(bus, "bob")
    bus.claim_message("bob", request["id"])
    bus.complete_message(request["id"], agent_id="bob")
    bus.send_response(request, {}, agent_id="bob", message_id=M1)
    clock.set(clock.now_ms() + 3_600_000)
    bus.cleanup_expired_messages()
    assert bus.send_response(request, {}, agent_id="bob", message_id=M1) == {"message_id": M1}
    with pytest.raises(NotClaimed):
        bus.send_response(request, {}, agent_id="bob")


def test_a_response_can_be_retried(bus: CommsBus, send: Send) -> None:
    """With an id of its own choice it is stored once."""
    send()
    (request,) = shown(bus, "bob")
    for _ in range(2):
        assert bus.send_response(request, {"a": 1}, message_id=M1) == {"message_id": M1}
    assert [message["id"] for message in shown(bus, "alice")] == [M1]


def test_bad_arguments_are_refused(bus: CommsBus, send: Send) -> None:
    """With nothing sent."""
    send()
    (good,) = shown(bus, "bob")
    for original, payload, path in (
        ({}, {}, None),
        (None, {}, None),
        ({**good, "version": "2.0"}, {}, None),
        (good, [], None),
        (good, {}, "/etc/passwd"),
        (good, {}, ".claude/artifacts/../x"),
        (good, {}, ""),
    ):
        with pytest.raises(InvalidArgument):
            bus.send_response(original, payload, path)  # type: ignore[arg-type]
    for change in ({"timeout_seconds": -1}, {"timeout_seconds": True}, {"timeout_seconds": 86_401}, {"to_agent": None}):
        with pytest.raises(InvalidArgument):
            bus.request(**{"from_agent": "alice", "to_agent": "bob", "message_type": "note", "payload": {}, **change})  # type: ignore[arg-type]
    assert shown(bus, "bob") == [good]
    assert shown(bus, "alice") == []
