"""Choices where a seed is silent are learnt from a history, however many meet in one answer; a fault is no choice."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from busproof.oracle.models.mailbox import MailboxModel
from busproof.oracle.models.spec import Model, Refusal
from busproof.play.explore.dialect import History, explained, of_two_minds, tried
from busproof.play.explore.orders import Called

OPTIONS = {"order": ("oldest first", "newest first"), "kept": ("all", "three"), "empty": ("a list", "null", "absent")}
ALL_DIALECTS = [dict(zip(OPTIONS, chosen, strict=True)) for chosen in itertools.product(*OPTIONS.values())]
PROGRAMS = st.lists(st.one_of(st.none(), st.integers(0, 9)), max_size=12)  # None: look


class Shelf(Model):
    """Takes numbers; only a look shows them, and so several choices at once."""

    def __init__(self, dialects: dict[str, str]) -> None:
        super().__init__(frozenset(), {}, dialects)
        self.numbers: list[int] = []

    def put(self, number: int) -> dict[str, Any]:
        """On the shelf."""
        self.numbers.append(number)
        if len(self.numbers) > 3 and self.choice("kept", *OPTIONS["kept"]) == "three":
            self.numbers.pop(0)
        return {}

    def look(self) -> dict[str, Any]:
        """All that is there."""
        if not self.numbers:
            return {"list": {"numbers": []}, "null": {"numbers": None}, "absent": {}}[
                self.choice("empty", *OPTIONS["empty"]).removeprefix("a ")
            ]
        newest = len(self.numbers) > 1 and self.choice("order", *OPTIONS["order"]) == "newest first"
        return {"numbers": self.numbers[:: -1 if newest else 1]}


class Leaky(Shelf):
    """A number may fall off when somebody knocks, on another bus; no answer says so."""

    EITHER = frozenset({"knock"})

    def knock(self) -> dict[str, Any]:
        """A number falls off, or not."""
        if self.numbers and self.choice("knock", "all stay", "one may fall") == "one may fall" and self.either():
            self.numbers.pop()
        return {}


def history_of(bus: Shelf, program: list[int | None]) -> History:
    """The answers of a bus that makes these choices."""
    history: History = []
    for step, number in enumerate(program):
        method, params = ("look", {}) if number is None else ("put", {"number": number})
        called = Called(str(step), 0, method, params, 0)
        called.seen = bus.call(called.step, 0, method, params, 0).value
        history.append(([called], ()))
    return history


@given(st.sampled_from(ALL_DIALECTS), PROGRAMS)
def test_whatever_a_bus_chose_explains_what_it_did(dialects: dict[str, str], program: list[int | None]) -> None:
    """Two choices in one answer, and one that showed only later, too."""
    history = history_of(Shelf(dialects), [*program, None])
    assert tried(Shelf, history, {}).states or explained(Shelf, history, {}, {})


@given(st.sampled_from(ALL_DIALECTS), PROGRAMS)
def test_a_number_that_nobody_put_there_is_explained_by_nothing(
    dialects: dict[str, str], program: list[int | None]
) -> None:
    history = history_of(Shelf(dialects), [*program, 5, None])
    history[-1][0][0].seen = {"numbers": [*history[-1][0][0].seen["numbers"], 10]}
    assert explained(Shelf, history, {}, {}) is None


def test_what_was_learnt_too_early_is_learnt_again() -> None:
    """A choice that explained the beginning alone gives way to one that explains all."""
    history = history_of(Shelf({"kept": "three"}), [1, 2, 3, 4, None])
    assert explained(Shelf, history, {}, {"order": "newest first"}).dialects == {"kept": "three"}
    assert explained(Shelf, history, {"order": "newest first"}, {}) is None  # other scripts have shown it


def test_a_choice_that_is_made_otherwise_later_is_none() -> None:
    history = history_of(Shelf({"order": "newest first"}), [1, 2, None])
    history += history_of(Shelf({}), [1, 2, None])[2:]
    assert explained(Shelf, history, {}, {}) is None
    assert of_two_minds(Shelf, history, {"order": "newest first"}, 3) == "order"
    history[-1][0][0].seen = {"numbers": [7]}
    assert of_two_minds(Shelf, history, {"order": "newest first"}, 3) == ""


@given(st.lists(st.booleans(), min_size=1, max_size=5), st.booleans())
def test_what_a_bus_alone_knows_is_tried_both_ways(falls: list[bool], is_whole: bool) -> None:
    """Any of the knocks may have taken a number away, but no more numbers are gone than there were knocks."""
    left = 6 - sum(falls) if is_whole else 5 - len(falls)
    calls = [*(("put", {"number": number}) for number in range(6)), *[("knock", {})] * len(falls), ("look", {})]
    history: History = [([Called(str(n), 0, *call, 0, seen={})], ()) for n, call in enumerate(calls)]
    history[-1][0][0].seen = {"numbers": list(range(left))}
    assert bool(tried(Leaky, history, {"knock": "one may fall"}).states) == is_whole
    assert bool(tried(Leaky, history, {}).states) == (is_whole and not any(falls))


@pytest.mark.parametrize("seen", list(itertools.product([{}, Refusal("NOT_FOUND", definite=True)], repeat=2)))
def test_a_mailbox_may_answer_acks_of_what_is_anothers_one_way_and_the_other(seen: tuple[Any, Any]) -> None:
    """lnfnt-a2a takes that of the sender, who has a copy, and refuses all others'; neither changes anything."""
    calls: list[tuple[str, dict[str, Any], Any]] = [
        *(("receive", {"agent_id": agent}, {"messages": []}) for agent in ("ann", "bob", "cat")),
        ("send", {"agent_id": "ann", "to": "bob", "body": "one"}, {"id": "1"}),
        ("ack", {"agent_id": "ann", "ids": ["1"]}, seen[0]),
        ("ack", {"agent_id": "cat", "ids": ["1"]}, seen[1]),
        ("receive", {"agent_id": "bob"}, {"messages": [{"id": "1", "body": "one"}]}),
    ]
    history: History = [([Called(str(n), 0, *call, 0, seen=answer)], ()) for n, (*call, answer) in enumerate(calls)]
    assert explained(lambda made: MailboxModel(frozenset({"log", "cursor", "ack"}), {}, made), history, {}, {})
