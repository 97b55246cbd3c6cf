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


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800", object()])
def test_a_payload_of_what_is_no_json_is_refused(bus: CommsBus, value: Any) -> None:
    """NaN first of all (C10)."""
    with pytest.raises(InvalidArgument):
        bus.send_message("alice", "bob", "note", {"x": value})
    with pytest.raises(PayloadTooLarge):
        bus.send_message("alice", "bob", "note", {"x": "y" * 10_000_000})
    assert bus.dump()["messages"] == []


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
