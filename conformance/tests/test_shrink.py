"""A script is shrunk in its values as well: what is kept still fails the same rows, and nothing simpler does."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from busproof.oracle.models.spec import Difference
from busproof.play.explore.orders import Called
from busproof.play.explore.script import Step, call, resolve
from busproof.play.explore.search import Program
from busproof.play.explore.shrink import TRIES_MAX, shrink, simpler_than
from busproof.play.explore.stage import Mismatch


def json_of(numbers: st.SearchStrategy[float]) -> st.SearchStrategy[Any]:
    return st.recursive(
        st.none() | st.booleans() | numbers | st.text(max_size=12),
        lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=4),
        max_leaves=8,
    )


JSON = json_of(st.integers() | st.floats(allow_nan=False))
SMALL = json_of(st.integers(-9, 9) | st.floats(-9, 9))


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for member in value.values() for leaf in leaves(member)]
    return [leaf for member in value for leaf in leaves(member)] if isinstance(value, list) else [value]


FAULTS: dict[str, Callable[[Any], bool]] = {  # of a bus that breaks at such a value
    "long": lambda value: any(isinstance(leaf, str) and len(leaf) >= 7 for leaf in leaves(value)),
    "many": lambda value: len(leaves(value)) >= 5,
    "large": lambda value: any(type(leaf) is int and abs(leaf) >= 100 for leaf in leaves(value)),
    "mixed": lambda value: any(leaf is True for leaf in leaves(value)) and any(leaf == "" for leaf in leaves(value)),
}


def bus(fault: Callable[[Any], bool], rows: Callable[[Any], tuple[str, ...]] = lambda value: ("a",)) -> Any:
    """Plays a script as a bus with this fault would."""

    def play(steps: list[Step]) -> Program:
        program = Program(0)
        for step in steps:
            program.steps.append(step)
            payload = resolve(step.params, {}).get("payload")
            if step.method == "publish" and fault(payload):
                called = [Called(step.name, 0, step.method, step.params, 0)]
                program.mismatch = Mismatch(step, called, Difference("reply", "a", "b", rows(payload)), [])
                break
        return program

    return play


@given(JSON, st.sampled_from(sorted(FAULTS)))
def test_what_is_left_breaks_the_same_rows_and_nothing_simpler_does(payload: Any, name: str) -> None:
    fault = FAULTS[name]
    program = bus(fault)([call(0, "poll", agent_id="bob"), call(0, "publish", payload=payload)])
    if program.mismatch is None:
        return
    small, is_certain = shrink(bus(fault), program)
    (step,) = small.steps
    assert is_certain and small.mismatch is not None and small.mismatch.rows == program.mismatch.rows
    assert fault(step.params["payload"])
    assert not any(fault(simpler) for simpler in simpler_than(step.params["payload"]))
    assert len(json.dumps(step.params)) <= len(json.dumps(program.steps[-1].params))


@given(SMALL)
def test_a_chain_of_simpler_values_has_an_end(value: Any) -> None:
    """Whichever is taken of each; here the last, which is the least simple."""
    for _ in range(1_000):
        *_, value = (None, *simpler_than(value))
        if value is None:
            return
    raise AssertionError(value)


@pytest.mark.parametrize(
    ("payload", "fault", "left"),
    [
        ({"text": "é" * 10_000, "n": 5}, lambda value: len(value.get("text", "")) > 4_096, {"text": "a" * 4_097}),
        ([{"k": n} for n in range(100)], lambda value: len(value) >= 33, [{}] * 33),
        (
            {"$text": [["x", 5_000], ["y", 5_000]]},
            lambda value: len(value) >= 6_000,
            {"$text": [["x", 1_000], ["y", 5_000]]},
        ),
        ({"$many": 1_000, "of": {"n": "#"}}, lambda value: len(value) > 500, {"$many": 501, "of": {}}),
        ({"$": "3.seq1", "plus": 7}, lambda value: True, {"$": "3.seq1", "plus": 7}),
    ],
)
def test_a_large_payload_is_cut_to_what_shows_the_fault_in_few_trials(payload: Any, fault: Any, left: Any) -> None:
    """And a value of the bus's choice stays what it is."""
    plays = 0

    def play(steps: list[Step]) -> Program:
        nonlocal plays
        plays += 1
        return bus(lambda value: value is not None and fault(value))(steps) if "$" not in payload else always(steps)

    small, _ = shrink(play, play([call(0, "publish", payload=payload)]))
    assert small.steps[0].params["payload"] == left
    assert plays < 600 < TRIES_MAX


def always(steps: list[Step]) -> Program:
    program = Program(0, [*steps])
    program.mismatch = Mismatch(steps[-1], [Called("", 0, steps[-1].method, {}, 0)], Difference("reply", "a", "b"), [])
    return program


def test_a_simpler_value_that_breaks_another_row_is_not_kept() -> None:
    """It would be another fault."""
    play = bus(lambda value: bool(value), rows=lambda value: ("long",) if len(value) > 5 else ("short",))
    small, _ = shrink(play, play([call(0, "publish", payload="x" * 50)]))
    assert len(small.steps[0].params["payload"]) == 6


def test_a_path_is_never_made_another_one() -> None:
    """A shorter one might lead out of the store."""
    step = call(0, "backup", path="/tmp/here/copy")
    small, _ = shrink(always, always([step]))
    assert small.steps[0].params == step.params
