"""The specification of timeline, without a bus: its key algebra, its chain, and the view of a fork."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from busproof.oracle.models.timeline import TimelineModel
from busproof.oracle.models.timeline_keys import VARIANTS, NoKey, dimensions, filter_subjects, key_of, matches, subject

ODD = st.sampled_from(["main", "Main", "main ", "a.b", "a_b", "a%2Eb", "*", ">", "caf\u00e9", "cafe\u0301", " ", "0"])
NAMES = ODD | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
SEQUENCES = st.integers(0, 2**53)


@st.composite
def keys(draw: Any) -> dict[str, Any]:
    """Any key."""
    type_ = draw(st.sampled_from(sorted(VARIANTS)))
    return {"type": type_, **{n: draw(SEQUENCES if n == "sequence" else NAMES) for n in dimensions(type_)}}


@given(key=keys())
def test_subject_and_key_are_one(key: dict[str, Any]) -> None:
    """And a subject has as many tokens as its key has dimensions, whatever the names hold."""
    assert key_of(subject(key)) == key
    assert len(subject(key).split(".")) == 2 + len(dimensions(key["type"]))
    assert not set(subject(key)) & set("*> \t\n")


@given(key=keys(), other=NAMES, data=st.data())
def test_another_dimension_is_another_subject_and_matches_no_filter_of_the_first(
    key: dict[str, Any], other: str, data: Any
) -> None:
    """Each dimension counts."""
    name = data.draw(st.sampled_from(dimensions(key["type"])))
    value = data.draw(SEQUENCES) if name == "sequence" else other
    assume(value != key[name])
    changed = key | {name: value}
    some = {"type": key["type"], name: key[name]}
    assert subject(changed) != subject(key)
    assert matches(some, key) and not matches(some, changed)
    assert not set(filter_subjects(some)) & set(filter_subjects({"type": key["type"], name: value}))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "vlinder",
        "vlinder.a.b.fork",
        "vlinder.a.b.fork.",
        "vlinder.a.b.fork.%2e",
        "vlinder.a.b.fork.%61",
        "x.a.b.fork.c",
    ],
)
def test_what_no_key_is_written_as_is_none(text: str) -> None:
    with pytest.raises(NoKey):
        key_of(text)


class Room:
    """A model with one process."""

    def __init__(self) -> None:
        self.model, self.step = TimelineModel(frozenset({"sqlite"}), {}, {}), 0
        self.answer("open", options={})

    def answer(self, method: str, **params: Any) -> Any:
        """The model's answer."""
        self.step += 1
        return self.model.call(str(self.step), 0, method, params, 1_000)

    def ask(self, sequence: int, timeline: str = "main") -> Any:
        """A request."""
        return self.answer("send", key={"type": "request", **call(sequence, timeline)}, payload=sequence).value


def call(sequence: int, timeline: str = "main") -> dict[str, Any]:
    """A request's dimensions."""
    members = {"timeline": timeline, "submission": "s", "agent": "a", "service": "infer", "backend": "ollama"}
    return {**members, "operation": "chat", "sequence": sequence}


def fork(room: Room, name: str, parent: str, at: int) -> Any:
    """A branch."""
    return room.answer("fork", timeline=name, submission="s", agent_name="a", parent=parent, at=at)


def test_a_hash_covers_the_state() -> None:
    """Two results that differ in nothing else differ in their hash."""
    hashes = set()
    for state in (None, 1, True):
        room = Room()
        room.ask(1)
        key = {"type": "delegate", "timeline": "main", "submission": "s", "caller": "a", "target": "b"}
        hashes.add(room.answer("reply", key=key, nonce="n", payload=1, state=state).value["hash"].value)
    assert len(hashes) == 3
