"""A script under other names, or with clocks that go back and forth, tells the same story; the corpus holds both."""

from __future__ import annotations

import itertools
import unicodedata
from functools import partial

import pytest

from busproof.play.explore import corpus
from busproof.play.explore.script import Step, call, to_line
from busproof.play.explore.vary import LOOK_ALIKE, aged, interrupted, renamed, there_and_back
from busproof.systems import SYSTEMS

T0_MS = 1_768_053_600_000
VARIATIONS = {"there_and_back": partial(there_and_back, start_ms=T0_MS), "interrupted": interrupted, "aged": aged}
VARIED = [
    (system, *name.rsplit(".", 1))
    for system in SYSTEMS
    for name in corpus.scripts(system)
    if name.rpartition(".")[2] in VARIATIONS
]


def test_names_are_replaced_wherever_a_story_says_them() -> None:
    steps = [
        call("hand", "stranger", row={"from": "ann", "ann": ["ann", "annex"], "path": "a/ann/b", "ref": {"$": "ann"}}),
        Step("wait", calls=[call(0, "poll", agent_id="ann"), call(1, "publish", agent_id="bob")]),
        Step("open", 0, params={"options": {"signing_key": "ann"}}),
    ]
    first, wait, opened = renamed(steps, {"ann": "x:y"})
    assert first.params["row"] == {"from": "x:y", "x:y": ["x:y", "annex"], "path": "a/x:y/b", "ref": {"$": "ann"}}
    assert [poll.params["agent_id"] for poll in wait.calls] == ["x:y", "bob"]
    assert opened.params == steps[2].params


def test_look_alikes_are_told_apart_by_their_bytes_alone() -> None:
    assert len(set(LOOK_ALIKE)) == len(LOOK_ALIKE)
    assert len({name.lower() for name in LOOK_ALIKE}) < len(LOOK_ALIKE)
    assert len({unicodedata.normalize("NFC", name) for name in LOOK_ALIKE}) < len(LOOK_ALIKE)
    assert len({name.strip() for name in LOOK_ALIKE}) < len(LOOK_ALIKE)


def test_a_clock_goes_back_before_a_call_and_is_right_again_before_the_next() -> None:
    calls = [call(0, "poll", agent_id=str(number)) for number in range(20)]
    steps = there_and_back([Step("open"), *calls[:10], Step("clock", params={"now_ms": T0_MS + 5}), *calls[10:]], T0_MS)
    assert [step for step in steps if step.do == "call"] == calls
    clocks = [step.params["now_ms"] for step in steps if step.do == "clock"]
    assert max(clocks[:10]) == T0_MS and max(clocks[11:]) == T0_MS + 5
    assert min(clocks) < T0_MS - 50_000 and any(before > now for before, now in itertools.pairwise(clocks))


def test_between_two_calls_somebody_opens_the_store_or_begins_anew() -> None:
    story = [
        Step("open", 0, params={"options": {"lease_ms": 5}}),
        *(call(0, "poll") for _ in range(6)),
        call("hand", "look"),
    ]
    varied = interrupted(story)
    assert [step.do for step in varied] == ["open", *["open", "call", "restart", "call", "open", "call"] * 2, "call"]
    assert {step.params["options"]["lease_ms"] for step in varied if step.do == "open"} == {5}
    assert [step for step in varied if step.do == "call"] == story[1:]


@pytest.mark.parametrize(("system", "name", "how"), VARIED)
def test_a_varied_story_is_the_story_of_that_name(system: str, name: str, how: str) -> None:
    """So a change of the story needs a new variant."""
    scripts = corpus.scripts(system)
    made = VARIATIONS[how](scripts[name])
    assert [to_line(step) for step in made] == [to_line(step) for step in scripts[f"{name}.{how}"]]
