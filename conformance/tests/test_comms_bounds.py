"""Values that no sentence of comms bounds are free: a bus may take them or refuse them."""

from __future__ import annotations

from typing import Any

import pytest

from busproof.oracle.models.comms import CommsModel
from busproof.oracle.models.parts import is_iso_8601, nearly_iso_8601
from busproof.oracle.models.spec import Answer, Model, Refusal
from busproof.oracle.models.timeline import TimelineModel
from busproof.oracle.models.worker import WorkerModel
from busproof.play.explore.dialect import History, explained, tried
from busproof.play.explore.orders import Called

NOW_MS = 1_768_053_600_000
REFUSED = Refusal("INVALID_ARGUMENT", definite=True)
SEND: dict[str, Any] = {"from_agent": "a", "to_agent": "b", "message_type": "note", "payload": {}}
VOTE = {"topic": "t", "options": ["x", "y"], "deadline": "2026-01-10T15:00:00 Z"}


def make(dialects: dict[str, str]) -> Model:
    """A bus that declares everything."""
    return CommsModel(CommsModel.EVERYTHING, {}, dialects)


def answers(method: str, params: dict[str, Any]) -> list[Answer]:
    """The answers of the reference, and of a bus that chose otherwise wherever the model asks."""
    first = make({})
    ways = [first.call("1", 0, method, dict(params), NOW_MS)]
    for name, options in first.consulted.items():
        ways += [make({name: option}).call("1", 0, method, dict(params), NOW_MS) for option in options[1:]]
    return ways


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("send_message", {**SEND, "ttl_seconds": 0}),
        ("send_message", {**SEND, "ttl_seconds": 2**31}),
        ("send_message", {**SEND, "payload": {"n": [2**63]}}),
        ("send_message", {**SEND, "message_type": "vote.initiate", "payload": VOTE}),
        ("receive_messages", {"agent_id": "a", "channels": ["c"], "limit": 0}),
        ("receive_messages", {"agent_id": "a", "channels": ["c"], "limit": 2**31}),
        ("circuit_breaker", {"events": [{"at_ms": -1, "event": "call"}]}),
        ("circuit_breaker", {"events": [{"at_ms": 0, "event": "call", "why": "x"}]}),
        ("write_artifact", {"agent_id": "a", "task_id": "t", "content": -(2**63) - 1}),
    ],
)
def test_it_may_be_taken_and_it_may_be_refused(method: str, params: dict[str, Any]) -> None:
    """And a refusal that a bus chose breaks no row: the choice bears no row's name."""
    ways = answers(method, params)
    assert {answer.refused for answer in ways} == {None, "INVALID_ARGUMENT"}
    called = Called("1", 0, method, params, NOW_MS, seen=REFUSED)
    history: History = [([called], ())]
    trial = tried(make, history, {})
    assert trial.states or (trial := explained(make, history, {}, {}))
    assert not any(name.startswith("comms.") for name in trial.dialects)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("send_message", {**SEND, "ttl_seconds": 1}),
        ("send_message", {**SEND, "ttl_seconds": -1}),
        # Its time to live is said: unsaid, it is a choice.
        ("send_message", {**SEND, "payload": {"n": 2**63 - 1}, "ttl_seconds": 1}),
        ("receive_messages", {"agent_id": "a", "channels": ["c"], "limit": 1}),
        ("receive_messages", {"agent_id": "a", "channels": ["c"], "limit": -1}),
    ],
)
def test_within_the_bounds_there_is_no_choice(method: str, params: dict[str, Any]) -> None:
    assert len(answers(method, params)) == 1


@pytest.mark.parametrize(
    "text", ["2026-01-10T14:01Z", "2026-01-10T14:01:00,5+02", "20260110T140100Z", "2026-W02-6T14:01:00-05:30"]
)
def test_forms_of_the_standard(text: str) -> None:
    assert is_iso_8601(text)


@pytest.mark.parametrize("text", ["2026-01-10T14:01:00 Z", "2026-01-10 14:01Z", "20260110T14:01Z", "2026-01-10T14:01"])
def test_forms_that_python_reads_and_the_standard_lacks(text: str) -> None:
    assert not is_iso_8601(text)
    assert nearly_iso_8601(text)


def test_each_form_that_is_nearly_the_standards_is_a_choice_of_its_own() -> None:
    assert nearly_iso_8601("2026-01-10 14:01:00Z") == ["a blank for T"]
    assert nearly_iso_8601("2026-01-10T14:01:00 Z") == ["a blank before the zone"]
    assert nearly_iso_8601("2026-01-10 14:01:00 Z") == ["a blank for T", "a blank before the zone"]
    assert nearly_iso_8601("2026-01-10T14:01:00Z") == []


def test_a_dump_may_show_a_payload_as_the_columns_text_or_as_its_value() -> None:
    model = make({})
    name = "550e8400-e29b-41d4-a716-446655440000"
    model.call("1", 0, "send_message", {**SEND, "payload": {"n": 1}, "message_id": name}, NOW_MS)
    for payload, fits in (({"n": 1}, True), ('{"n":1}', True), ({"n": 2}, False), ("{", False)):
        row = model.call("2", 0, "dump", {}, NOW_MS).value["messages"].expected[0]
        assert row["payload"].value.test(payload) is fits


@pytest.mark.parametrize("model", [WorkerModel, TimelineModel])
def test_a_number_beyond_64_bits_is_free_in_the_other_systems_too(model: type[Model]) -> None:
    """A bus whose numbers are signed and of 64 bits keeps no others, and says so."""
    for number, choices in ((2**63, 1), (2**63 - 1, 0)):
        judge: Any = model(model.EVERYTHING, {}, {})
        judge.json([{"n": number}])
        assert sum("64 bits" in name for name in judge.consulted) == choices
