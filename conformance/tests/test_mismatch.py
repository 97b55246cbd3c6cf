"""A difference as it is told: the decisive argument is seen, the state is the one before, nothing passes as ours."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from busproof.oracle.models.comms import CommsModel
from busproof.oracle.models.spec import Above, Difference, Free, Refusal
from busproof.play.explore.comms import SPECIFICATION
from busproof.play.explore.orders import Called
from busproof.play.explore.script import call
from busproof.play.explore.stage import CHOSEN, Mismatch, Stage
from busproof.play.explore.topics import SPECIFICATION as TOPICS
from busproof.systems import SYSTEMS
from busproof.words import shortened

NOW_MS = 1_768_053_600_000
SEND: dict[str, Any] = {"from_agent": "a", "to_agent": "b", "message_type": "note", "payload": {}}


def answer(**more: Any) -> Any:
    """The model's answer to a send."""
    return CommsModel(CommsModel.EVERYTHING, {}, {}).call("1", 0, "send_message", {**SEND, **more}, NOW_MS)


def test_long_texts_are_cut_inside_the_values() -> None:
    params = {"payload": {"text": "x" * 1000, "list": list(range(100))}, "ttl_seconds": 2**31}
    called = Called("1", 0, "send_message", params, NOW_MS, seen={})
    text = Mismatch(call(0, "send_message", params), [called], Difference("reply", "a", "b"), ["a refusal"]).told()
    assert '"ttl_seconds": 2147483648' in text and "(1,000 characters)" in text and "(100 members)" in text
    assert shortened({"short": ["x" * 80, 1]}) == {"short": ["x" * 80, 1]}


def test_a_value_of_the_buss_choice_is_told_in_words() -> None:
    """Of each class that a model has. A fresh reader of reports asked: above what?"""
    assert SYSTEMS  # all models are known
    free, classes = [Free], {Free}
    while free:
        more = set(free.pop().__subclasses__())
        classes |= more
        free += more
    assert {one_class.__name__.lower() for one_class in classes} == CHOSEN.keys()
    called = Called("1", 0, "claim", {}, NOW_MS, seen={"token": 1})
    expected = str(Above("token", 1))
    text = Mismatch(call(0, "claim"), [called], Difference("reply.token", expected, "1"), [expected]).told()
    assert "reply.token: <a higher number than those before> expected, not 1" in text


def test_what_a_bus_says_makes_no_line_of_its_own() -> None:
    seen = Refusal("X", definite=True, message="so\nVALID")
    called = Called("1", 0, "dump", {}, NOW_MS, seen=seen)
    text = Mismatch(call(0, "dump", {}), [called], Difference("reply", "a", str(seen)), ["a\nb"]).told()
    assert len(text.split("\n")) == 4


def test_a_call_without_an_answer_says_first_what_happened() -> None:
    """Not which rows it might have broken."""
    lost = Refusal("LOST", definite=False, message="no answer to dump in 10 s; BUSPROOF_PATIENCE=10 waits longer")
    called = Called("1", 0, "dump", {}, NOW_MS, seen=lost)
    first, second, *_ = (
        Mismatch(call(0, "dump", {}), [called], Difference("reply", "a", str(lost)), []).told().split("\n")
    )
    assert first == lost.message and second.startswith("reply: a expected, not ")


def test_a_refusal_of_the_model_says_why() -> None:
    assert "ttl_seconds is 1 to 315,360,000, not -1" in str(answer(ttl_seconds=-1))
    assert "missing or unknown: x" in str(answer(x=1))


def test_a_refusal_is_blamed_on_the_row_of_the_bound_and_not_on_all_of_sending() -> None:
    """A refused vote says nothing of buckets; an empty bucket says nothing of votes."""
    vote = {"topic": "t", "options": ["x", "y"], "deadline": "20260110T150000Z"}
    asked = answer(message_type="vote.initiate", payload=vote)
    assert asked.differs(Refusal("INVALID_ARGUMENT", definite=True)).rows == ("comms.log.47",)
    assert asked.differs(Refusal("RATE_LIMITED", definite=True)).rows[0] == "comms.limit.01"
    assert "comms.log.01" in asked.differs({"message_id": 5}).rows


def test_the_state_that_is_told_is_the_one_before_the_call() -> None:
    features = sorted(CommsModel.EVERYTHING)
    hello = SimpleNamespace(nouns=features, features=[], limits={}, clock="manual")
    stage = Stage(cast(Any, SimpleNamespace(hello=hello)), SPECIFICATION)
    name = "550e8400-e29b-41d4-a716-446655440000"
    sent = Called("1", 0, "send_message", {**SEND, "message_id": name}, NOW_MS, seen={"message_id": name})
    stage._judge(call(0, "send_message"), [sent])
    claim = Called("2", 0, "claim_message", {"agent_id": "b", "message_id": name}, NOW_MS, seen={"claimed": False})
    with pytest.raises(Mismatch) as raised:
        stage._judge(call(0, "claim_message"), [claim])
    assert name in raised.value.state and "processing" not in raised.value.state
    assert "processing" in stage.model.in_words()


def test_a_choice_about_the_very_sentence_that_is_broken_now_is_none() -> None:
    """It does not explain all: the stage takes it back, and tells the faults that it had explained away."""
    features = sorted(CommsModel.EVERYTHING)
    hello = SimpleNamespace(nouns=features, features=[], limits={}, clock="manual")
    stage = Stage(cast(Any, SimpleNamespace(hello=hello)), SPECIFICATION, {"comms.limit.01: full": "waits"})

    def broken(*rows: str) -> Mismatch:
        called = Called("1", 0, "dump", {}, NOW_MS, seen={})
        return Mismatch(call(0, "dump", {}), [called], Difference("reply", "a", "b", rows), ["a"])

    assert stage._belied(broken("comms.limit.01", "comms.log.01")) == "comms.limit.01: full"
    assert stage._belied(broken("comms.log.01", "comms.limit.01")) == ""
    stage.dialects = {(followed := "topics.route.19: refuses"): "with none"}
    assert stage._belied(broken("topics.route.19")) == followed
    stage.specification = TOPICS
    assert stage._belied(broken("topics.route.19")) == ""  # a fault that is told, whatever else breaks that row
