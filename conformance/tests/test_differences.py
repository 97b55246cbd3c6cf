"""The text of a difference, which spares its reader comparing two lists by eye."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from busproof.oracle.models.spec import Above, Free, FreshId, Told, differs


@given(st.lists(st.integers(), unique=True, min_size=1), st.data())
def test_members_that_are_missing_are_named_with_their_places(wanted: list[int], data: st.DataObject) -> None:
    places = data.draw(st.sets(st.sampled_from(range(len(wanted))), min_size=1, max_size=3))
    seen = [n for place, n in enumerate(wanted) if place not in places]
    named = ", ".join(f'[{place}] {{"n": {wanted[place]}}}' for place in sorted(places))
    difference = differs({"messages": [{"n": n} for n in wanted]}, {"messages": [{"n": n} for n in seen]})
    assert difference is not None
    assert difference.path == "reply.messages"
    assert difference.expected == f"{len(wanted)} of them, with {named}"
    assert difference.actual == f"{len(seen)} without {'it' if len(places) == 1 else 'them'}"


def test_a_member_too_much_is_named() -> None:
    assert str(differs([1, 2], [1, 7, 2])) == "reply: 2 of them expected, not 3, with [1] 7 too"


def test_of_many_the_first_three_are_shown() -> None:
    assert str(differs([], list("abcde"))).endswith('[0] "a", [1] "b", [2] "c" and 2 more too')


def test_where_more_is_wrong_both_lists_are_shown() -> None:
    assert str(differs([1, 2, 3], [9, 1])) == "reply: 3 of them [1, 2, 3] expected, not 2 [9, 1]"


def test_a_look_for_what_is_missing_binds_no_free_value() -> None:
    free = [{"id": FreshId("step 1"), "seq": Above("step 1", 0)}, {"id": FreshId("step 2"), "seq": Above("step 2", 0)}]
    assert differs(free, [{"id": "0b0c1c5e-5a0a-4f0e-8a51-1c1a5a0f0f0f", "seq": 1}]) is not None
    assert all(value.value is None for member in free for value in member.values())


def test_a_part_that_need_not_be_told_makes_no_member_another_one() -> None:
    wanted = [{"n": 1, "text": Told("a")}, {"n": 2, "text": Told("b")}]
    assert str(differs(wanted, [{"n": 2}])).startswith('reply: 2 of them, with [0] {"n": 1')


@pytest.mark.parametrize("seen", [[{"id": "x"}, {"id": None}], [{"id": None}, {"id": "x"}]])
def test_a_free_value_that_nothing_may_be_is_the_one_too_much(seen: list[dict[str, object]]) -> None:
    place = [row["id"] for row in seen].index(None)
    assert str(differs([{"id": Free("step 1")}], seen)).endswith(f'[{place}] {{"id": null}} too')
