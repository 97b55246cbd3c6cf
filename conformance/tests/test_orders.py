"""Calls in the air at once: no order that explains their answers is passed over."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from busproof.oracle.models.spec import Model
from busproof.play.explore.orders import Called, after, played

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


def test_of_several_states_those_remain_in_which_a_single_call_ended_so() -> None:
    """Each state goes on by itself."""
    empty, full = Queue(), Queue()
    full.there = ["x"]
    states, _ = after([empty, full], calls_that((1, 2)))
    assert states == [full]
    assert full.there == ["x", "0"]
