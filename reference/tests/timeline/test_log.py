"""Sending is recording: one append, numbered and chained, known by its key."""

from __future__ import annotations

from typing import Any

import pytest
from reference.tests.timeline.conftest import OpenBus, delegation, invoke, request

from refbus.kernel.errors import IdConflict, InvalidArgument, NotFound
from refbus.timeline.bus import TimelineBus


def test_numbers_are_dense_in_a_timeline_and_its_own(bus: TimelineBus) -> None:
    """A send elsewhere moves nothing here."""
    numbers = [bus.send(request(timeline, sequence=n))["number"] for n in range(3) for timeline in ("a", "b")]
    assert numbers == [1, 1, 2, 2, 3, 3]


def test_the_chain_goes_through_every_message(bus: TimelineBus) -> None:
    """From 64 zeros on."""
    sent = [bus.send(request(sequence=n), {"n": n}) for n in range(3)]
    logged = bus.log("main")["messages"]
    assert [message["hash"] for message in logged] == [message["hash"] for message in sent]
    assert [message["previous"] for message in logged] == ["0" * 64, sent[0]["hash"], sent[1]["hash"]]


def test_the_same_message_again_is_the_first_one(bus: TimelineBus) -> None:
    """Nothing is appended."""
    first = bus.send(invoke(), {"n": 1})
    assert bus.send(invoke(), {"n": 1}) == {**first, "duplicate": True}
    assert len(bus.log("main")["messages"]) == 1


def test_the_same_key_with_other_content_is_refused(bus: TimelineBus) -> None:
    """And nothing is stored."""
    bus.send(invoke(), {"n": 1})
    with pytest.raises(IdConflict) as refused:
        bus.send(invoke(), {"n": 2})
    assert refused.value.definite
    assert [message["payload"] for message in bus.log("main")["messages"]] == [{"n": 1}]


def test_delegations_to_one_target_are_told_apart_by_their_nonce(bus: TimelineBus) -> None:
    """They share a key, and their answers do not."""
    for nonce in ("1", "2"):
        bus.send(delegation(), {"task": nonce}, nonce)
    for nonce in ("2", "1"):
        bus.reply(delegation(), {"done": nonce}, nonce)
    replies = [(message["key"]["type"], message["payload"]) for message in bus.log("main")["messages"]]  # type: ignore[index]
    assert replies[2:] == [("delegate-reply", {"done": "2"}), ("delegate-reply", {"done": "1"})]
    assert [message["nonce"] for message in bus.log("main")["messages"]][:2] == ["1", "2"]


def test_a_second_answer_changes_nothing(bus: TimelineBus) -> None:
    """The same is a duplicate, another is refused: each request is answered once."""
    bus.send(request())
    bus.reply(request(), "first")
    assert bus.reply(request(), "first")["duplicate"]
    with pytest.raises(IdConflict):
        bus.reply(request(), "second")


@pytest.mark.parametrize("payload", [None, {}, [], 0, "", False, {"a": [1, {"ü": "\u2028"}]}, 1e300, "🦋"])
def test_every_json_value_comes_back(bus: TimelineBus, payload: Any) -> None:
    """Nothing is taken for absent."""
    bus.send(invoke(), payload)
    assert bus.log("main")["messages"][0]["payload"] == payload


@pytest.mark.parametrize("payload", [float("nan"), {"a": float("inf")}, "\ud800", {"a": b"b"}])
def test_what_is_no_json_is_refused(bus: TimelineBus, payload: Any) -> None:
    """Before anything is stored."""
    with pytest.raises(InvalidArgument):
        bus.send(invoke(), payload)
    assert bus.timelines()["timelines"] == []


def test_only_results_carry_a_state_and_it_is_the_hash_of_a_value(bus: TimelineBus) -> None:
    """Equal states have equal hashes, whatever the order of their members."""
    bus.reply(invoke(), "done", state={"a": 1, "b": 2})
    bus.reply(delegation(), "done", "1", state={"b": 2, "a": 1})
    ada, other = bus.log("main")["messages"]
    assert ada["state"] == other["state"] != bus.log("main")["messages"][0]["hash"]
    assert bus.state("main", "ada") == {"state": ada["state"], "number": 1}
    assert bus.state("main", "bob") == {"state": ada["state"], "number": 2}
    assert bus.state("main", "eve") == {"state": None, "number": None}
    with pytest.raises(InvalidArgument):
        bus.reply(request(), "done", state={})


@pytest.mark.parametrize("kind", ["complete", "response", "delegate-reply", "fork"])
def test_replies_and_forks_are_not_sent_by_themselves(bus: TimelineBus, kind: str) -> None:
    """They have their own ways."""
    key = {
        "complete": {"agent": "a", "harness": "h"},
        "response": {"service": "v", "backend": "b", "agent": "a", "operation": "o", "sequence": 1},
        "delegate-reply": {"caller": "a", "target": "b", "nonce": "1"},
        "fork": {"agent_name": "a"},
    }[kind]
    with pytest.raises(InvalidArgument):
        bus.send({"type": kind, "timeline": "main", "submission": "s", **key})


def test_the_log_pages_and_picks_a_submission(bus: TimelineBus) -> None:
    """Numbers are those of the timeline either way."""
    for n in range(6):
        bus.send(request(submission="odd" if n % 2 else "even", sequence=n))
    assert [message["number"] for message in bus.log("main", after=2, limit=3)["messages"]] == [3, 4, 5]
    assert [message["number"] for message in bus.log("main", "odd")["messages"]] == [2, 4, 6]
    assert bus.log("main", "none")["messages"] == []


def test_an_unknown_timeline_is_not_an_empty_one(bus: TimelineBus) -> None:
    """A mistyped name is told."""
    for ask in (bus.log, bus.verify):
        with pytest.raises(NotFound):
            ask("nowhere")
    with pytest.raises(NotFound):
        bus.state("nowhere", "ada")
    with pytest.raises(NotFound):
        bus.replay("nowhere", "s1")


def test_two_sessions_append_to_one_chain(open_bus: OpenBus) -> None:
    """Neither forks it, though each knows an older head (T6)."""
    first, other = open_bus(), open_bus()
    for n in range(10):
        (first if n % 2 else other).send(request(sequence=n))
        first.send(request("side", sequence=n))
    assert [message["number"] for message in other.log("main")["messages"]] == list(range(1, 11))
    assert first.verify() == {"ok": True, "checked": 20, "faults": []}
