"""Calls in the air at once: no order that explains their answers is passed over."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from busproof.bus.fleet import Fleet, reference
from busproof.bus.warm import Warm
from busproof.oracle.models.mailbox import Claim, MailboxModel
from busproof.oracle.models.spec import DoesNotApply, Model
from busproof.play.explore.orders import Called, after, copy_of, played
from busproof.play.explore.script import Step, call
from busproof.play.explore.stage import Stage
from busproof.systems import SYSTEMS

PARTS = 2  # of a call: its look, and its act


class Queue(Model):
    """Each joiner is told how many it saw there, and its place, which others may have made a later one since."""

    def __init__(self) -> None:
        super().__init__(frozenset(), {}, {})
        self.there: list[str] = []

    def join(self, name: str) -> Iterator[None]:
        """Look, then act."""
        saw = len(self.there)
        yield
        self.there.append(name)
        return {"saw": saw, "place": len(self.there)}  # type: ignore[return-value]


def calls_that(*ends: tuple[int, int]) -> list[Called]:
    """One call each, which saw so many and got this place."""
    seen = [{"saw": saw, "place": place} for saw, place in ends]
    return [Called(f"{at}", at, "join", {"name": f"{at}"}, 0, seen=reply) for at, reply in enumerate(seen)]


def states_in_some_order(calls: list[Called]) -> set[str]:
    """Every order played to its end, without any short cut."""
    states = set()
    for order in set(itertools.permutations([number for number in range(len(calls)) for _ in range(PARTS)])):
        model = Queue()
        if played(model, calls, order)[1] is None:
            states.add(model.fingerprint())
    return states


ENDS = [(saw, place) for saw in range(3) for place in range(saw + 1, 4)]


@given(st.lists(st.sampled_from(ENDS), min_size=2, max_size=3))
def test_the_states_are_those_of_every_order_that_fits(ends: list[tuple[int, int]]) -> None:
    """An order that is skipped, because it begins as one that failed, would have failed as well."""
    calls = calls_that(*ends)
    states, _ = after([Queue()], calls)
    assert {state.fingerprint() for state in states} == states_in_some_order(calls)


@pytest.mark.parametrize(
    ("ends", "is_explained"),
    [
        (((0, 1), (0, 2), (0, 3)), True),  # all looked before one of them acted
        (((0, 3), (0, 2), (0, 1)), True),
        (((0, 1), (1, 2), (2, 3)), True),  # one after the other
        (((0, 2), (0, 1), (1, 3)), True),
        (((1, 2), (1, 3), (1, 3)), False),  # nobody was the first
        (((0, 1), (0, 1), (0, 3)), False),
    ],
)
def test_answers_are_explained_by_an_order_or_by_none(ends: tuple[tuple[int, int], ...], is_explained: bool) -> None:
    """Each place belongs to somebody."""
    states, (_, difference) = after([Queue()], calls_that(*ends))
    assert bool(states) == is_explained
    assert is_explained or difference.path.startswith("reply.")


class Doors(Model):
    """Claims of one door; a second claim by the holder is not asked."""

    def __init__(self) -> None:
        super().__init__(frozenset(), {}, {})
        self.holder = ""

    def claim(self, name: str) -> dict[str, Any]:
        """Granted where the door is free."""
        if self.holder == name:
            raise DoesNotApply("a second claim by the holder")
        self.holder = self.holder or name
        return {"granted": self.holder == name}

    def release(self, name: str) -> dict[str, Any]:
        """By the holder."""
        self.holder = "" if self.holder == name else self.holder
        return {}


def race_of(*calls: tuple[str, dict[str, Any]]) -> list[Called]:
    """By ann in two processes, each with its answer."""
    return [Called(f"{at}", at, method, {"name": "ann"}, 0, seen=seen) for at, (method, seen) in enumerate(calls)]


@pytest.mark.parametrize("granted", [True, False])
def test_a_race_is_open_where_a_call_is_not_asked_in_an_order_that_fits_until_then(granted: bool) -> None:
    """The bus may have taken the claim first, and then any answer is right, and nobody knows the state."""
    state = Doors()
    state.holder = "ann"
    with pytest.raises(DoesNotApply):
        after([state], race_of(("release", {}), ("claim", {"granted": granted})))


def test_an_order_that_fails_before_the_call_that_is_not_asked_leaves_nothing_open() -> None:
    """The claim was answered in a way that it is in no order."""
    states, (_, difference) = after([Doors()], race_of(("claim", {"granted": False}), ("claim", {"granted": False})))
    assert not states
    assert difference.path == "reply.granted"


def test_a_call_that_one_possible_state_does_not_ask_is_left_out(warm: Warm) -> None:
    """After a race that two orders explain, either may be the bus's."""
    specification = SYSTEMS["mailbox"].model
    assert specification is not None
    claim = call(0, "claim", name="door", agent_id="ann", ttl_ms=60_000)
    with (
        contextlib.closing(Fleet([warm.spec(reference("mailbox"))], system="mailbox")) as fleet,
        Stage(fleet, specification) as stage,
    ):
        stage.do(Step("open", 0))
        held = copy_of(stage.model)
        assert isinstance(held, MailboxModel)
        held.claims["door"] = Claim("ann", stage.now_ms + 60_000, None)
        stage.states.append(held)
        stage.do(claim)
        assert stage.seen.left_out["claim"] == 1


def test_of_several_states_those_remain_in_which_a_single_call_ended_so() -> None:
    """Each state goes on by itself."""
    empty, full = Queue(), Queue()
    full.there = ["x"]
    states, _ = after([empty, full], calls_that((1, 2)))
    assert states == [full]
    assert full.there == ["x", "0"]
