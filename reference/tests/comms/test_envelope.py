"""The envelope: as validate_message passes it, as send takes it, and as it comes out again."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from refbus.comms.bus import CommsBus
from refbus.comms.envelope import REQUIRED, validate_message
from refbus.kernel.errors import BusError, InvalidArgument, PayloadTooLarge

OpenBus = Callable[..., CommsBus]

# The bus is made once for all examples: each leaves it empty, or begins by emptying it.
on_one_bus = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

strings = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | strings,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(strings, inner, max_size=4),
    max_leaves=20,
)
payloads = st.dictionaries(strings, json_values, max_size=5)

# Each field now and then wrong, so that most envelopes are nearly right.
anything = st.sampled_from([None, "", "a/b", "a\0b", "x" * 1025, 0, 1.5, True, [], {}, float("nan")])


def good_or_odd(good: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(good, good, good, good, anything)


fields = st.fixed_dictionaries(
    {
        "type": good_or_odd(st.just("note")),
        "from_agent": good_or_odd(st.sampled_from(["alice", "team:bob", "Zoë 2"])),
        "channel": good_or_odd(st.sampled_from(["general", "urgent"])),
        "priority": good_or_odd(st.integers(-1, 12)),
        "payload": good_or_odd(payloads),
    },
    optional={
        "to_agent": good_or_odd(st.just("bob")),
        "correlation_id": good_or_odd(st.just("req-001")),
        "id": good_or_odd(st.uuids().map(str)).filter(lambda value: value is not None),  # None: choose one
    },
)


@pytest.fixture
def wide_bus(open_bus: OpenBus) -> CommsBus:
    """Nobody is ever refused for sending too much."""
    return open_bus(rate_capacity=1e9)


@on_one_bus
@given(members=fields)
def test_send_takes_exactly_what_validate_message_calls_valid(wide_bus: CommsBus, members: dict[str, Any]) -> None:
    """One envelope, judged twice (seed: Message Schema Validation; C10, C11). A refusal stores nothing."""
    envelope = {"id": str(uuid.uuid4()), "version": "1.0", "timestamp": "2026-01-10T14:00:00Z", **members}
    valid, _ = validate_message(envelope)
    arguments = {key: value for key, value in members.items() if key not in ("id", "type")}
    wide_bus.store.db.write("DELETE FROM messages")  # ids of earlier examples are free again
    if valid:
        wide_bus.send_message(message_type=members["type"], message_id=members.get("id"), **arguments)
        return
    with pytest.raises(BusError) as caught:
        wide_bus.send_message(message_type=members["type"], message_id=members.get("id"), **arguments)
    assert caught.value.definite
    assert wide_bus.store.db.rows("SELECT * FROM messages") == []


@on_one_bus
@given(payload=payloads)
def test_every_json_object_comes_out_as_it_went_in(wide_bus: CommsBus, payload: dict[str, Any]) -> None:
    """Whole, and the received message is itself a valid envelope (seed: Field Definitions)."""
    sent = wide_bus.send_message("alice", "bob", "note", payload)["message_id"]
    (message,) = wide_bus.receive_messages("bob", ["general"])["messages"]
    assert message["payload"] == payload
    assert wide_bus.validate_message(message) == {"valid": True, "errors": []}
    wide_bus.claim_message("bob", sent)
    wide_bus.complete_message(sent)


def test_a_message_has_the_envelope_of_the_seed(bus: CommsBus) -> None:
    """Every field, with its default."""
    sent = bus.send_message("frontend-dev-01", "context-manager", "context.query", {"query": "q", "aspects": ["a"]})
    (message,) = bus.receive_messages("context-manager", ["general"])["messages"]
    assert uuid.UUID(message["id"]).version == 4
    assert message == {
        "id": sent["message_id"],
        "type": "context.query",
        "version": "1.0",
        "timestamp": "2026-01-10T14:00:00.000000Z",
        "correlation_id": None,
        "from_agent": "frontend-dev-01",
        "to_agent": "context-manager",
        "channel": "general",
        "priority": 5,
        "payload": {"query": "q", "aspects": ["a"]},
    }


def test_the_seeds_own_example_is_valid(bus: CommsBus) -> None:
    """Though its correlation id is no UUID (C11; seed: Envelope Structure)."""
    example = {
        "id": "550e8400-e29b-41d4-a716-446655440000",
        "type": "context.query",
        "version": "1.0",
        "timestamp": "2025-11-08T15:30:00Z",
        "correlation_id": "req-001",
        "from_agent": "frontend-dev-01",
        "to_agent": "context-manager",
        "channel": "general",
        "priority": 5,
        "payload": {
            "query": "Frontend development context needed",
            "aspects": ["ui_architecture", "component_ecosystem"],
        },
    }
    assert bus.validate_message(example) == {"valid": True, "errors": []}
    for missing in ("correlation_id", "to_agent"):
        optional = {field: value for field, value in example.items() if field != missing}
        assert bus.validate_message(optional)["valid"] and bus.validate_message({**example, missing: None})["valid"]


def test_all_faults_are_told_not_only_the_first(bus: CommsBus) -> None:
    """A list of errors (seed: validate_message)."""
    verdict = bus.validate_message({"version": "2.0", "priority": True, "payload": []})
    assert not verdict["valid"]
    assert [
        f"Missing required field: {field}" for field in REQUIRED if field not in ("version", "priority", "payload")
    ] == verdict["errors"][:5]
    assert verdict["errors"][5:] == ["priority must be integer", "payload must be object", "Unsupported version: 2.0"]
    for no_object in (None, [], "x", 1):
        assert bus.validate_message(no_object) == {"valid": False, "errors": ["message must be an object"]}


@pytest.mark.parametrize("priority", [0, 11, True, 5.0, "5", None, -1])
def test_a_priority_is_a_whole_number_from_1_to_10(bus: CommsBus, priority: Any) -> None:
    """True is an int in Python, and no priority (C10)."""
    with pytest.raises(InvalidArgument):
        bus.send_message("alice", "bob", "note", {}, priority=priority)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800", object()])
def test_a_payload_of_what_is_no_json_is_refused(bus: CommsBus, value: Any) -> None:
    """NaN first of all (C10)."""
    with pytest.raises(InvalidArgument):
        bus.send_message("alice", "bob", "note", {"x": value})
    with pytest.raises(PayloadTooLarge):
        bus.send_message("alice", "bob", "note", {"x": "y" * 10_000_000})
    assert bus.dump()["messages"] == []


@pytest.mark.parametrize(
    ("message_type", "payload", "wrong"),
    [
        ("context.query", {"query": "q"}, {"aspects": ["a"]}),
        ("context.query", {"query": "q", "aspects": ["a"]}, {"query": "q", "aspects": [1]}),
        ("context.response", {"context": {}}, {"context": "c"}),
        ("task.claim", {"task_id": "t"}, {"task_id": 1}),
        (
            "task.update",
            {"task_id": "t", "status": "s", "progress": 1},
            {"task_id": "t", "status": "s", "progress": True},
        ),
        (
            "vote.initiate",
            {"topic": "t", "options": ["a", "b"], "deadline": "2026-01-11T00:00:00Z"},
            {"topic": "t", "options": ["a", "b"], "deadline": "soon"},
        ),
        ("broadcast", {"message": "m", "severity": "s"}, {"message": "m"}),
        ("heartbeat", {"status": "s", "current_task": "t"}, {"status": "s", "current_task": None}),
    ],
)
def test_the_standard_types_have_payloads_of_their_own(
    bus: CommsBus, message_type: str, payload: dict[str, Any], wrong: dict[str, Any]
) -> None:
    """Fields beyond the schema are the sender's own business (seed: Standard Message Types)."""
    bus.send_message("alice", "bob", message_type, {**payload, "more": 1})
    with pytest.raises(InvalidArgument, match=message_type):
        bus.send_message("alice", "bob", message_type, wrong)


def test_a_damaged_payload_breaks_its_message_alone(
    bus: CommsBus, send: Callable[..., str], stranger_sends: Callable[..., str]
) -> None:
    """It is shown as damaged, among the others."""
    send()
    stranger_sends("s1", payload="{no JSON", priority=9)
    stranger_sends("s2", payload=b"\xff\xfe", priority=8)
    stranger_sends("s3", payload='{"x": NaN}', priority=7)
    stranger_sends("s4", payload="[1]", priority=6)
    *damaged, whole = bus.receive_messages("bob", ["general"])["messages"]
    assert [(m["id"], m["payload"], m["payload_error"]) for m in damaged] == [
        *((each, {}, "decode_failed") for each in ("s1", "s2", "s3")),
        ("s4", {}, "no_object"),
    ]
    assert "payload_error" not in whole
    assert bus.claim_message("bob", "s1")["claimed"]
