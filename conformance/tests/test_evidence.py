"""Evidence holds the step that caused it: all calls of a race, the call before a look, those that were refused."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from busproof.bus.fleet import Fleet
from busproof.oracle.models.spec import Difference, Refusal
from busproof.pages.report.terminal import EVENTS_SHOWN, _last
from busproof.play.explore import corpus
from busproof.play.explore.orders import Called
from busproof.play.explore.script import Step, call
from busproof.play.explore.search import Program
from busproof.play.explore.stage import Mismatch
from busproof.play.scenarios.common import raced
from busproof.play.suite import SCENARIOS, Ctx, Scenario
from busproof.run.runner import run_item
from busproof.systems import SYSTEMS

assert SYSTEMS  # all scripts are known

RACE = Step("race", name="2", calls=[Step("call", 0, "ack", {}, "2a"), Step("call", 1, "ack", {}, "2b")])
MANY = Step("many", 0, "publish", {}, "3", times=9)
STEPS = [Step("open", 0, name="0"), Step("call", 0, "publish", {}, "1"), RACE, MANY]


def shown_lines(step: Step, *called: Called) -> list[str]:
    """The lines of the steps before a difference at this step of the script, in these calls."""
    history = [([Called("1", 0, "publish", {}, 0, seen=Refusal("BUSY\n", definite=True))], ())]
    program = Program(0, STEPS[: STEPS.index(step) + 1] if step in STEPS else [*STEPS], history=[*history])
    mismatch = Mismatch(step, [*called], Difference("reply", "a", "b"), [])
    lines = corpus._seen_again("worker", "x", program, mismatch, "").split("\n")
    return [line.strip() for line in lines if line.startswith("  {")]


def named(lines: list[str]) -> list[str]:
    return [line.partition('"name": "')[2].partition('"')[0] for line in lines]


def test_a_race_is_told_if_the_look_after_it_shows_the_difference() -> None:
    """The calls that raced, not the dump, are what went wrong."""
    assert named(shown_lines(RACE, Called("2.look", 0, "dump", {}, 0))) == ["0", "1", "2"]
    assert named(shown_lines(RACE, Called("2a", 0, "ack", {}, 0), Called("2b", 1, "ack", {}, 0))) == ["0", "1"]


def test_a_call_is_told_if_the_look_after_it_shows_the_difference_and_one_of_many_names_the_many() -> None:
    look = call("hand", "look")
    look.name = "1.look"
    assert named(shown_lines(look, Called("1.look", "hand", "look", {}, 0))) == ["0", "1"]
    ack = Step("call", 0, "publish", {}, "3.7")
    assert named(shown_lines(ack, Called("3.7", 0, "publish", {}, 0))) == ["0", "1", "2", "3"]


def test_a_step_that_was_refused_says_so() -> None:
    """In one line, whatever its code."""
    lines = shown_lines(RACE, Called("2.look", 0, "dump", {}, 0))
    assert [line.endswith("  → refused, BUSY\\n") for line in lines] == [False, True, False]


@pytest.mark.parametrize("is_blamed", [False, True])
def test_each_answer_of_a_race_is_shown_with_its_call(monkeypatch: pytest.MonkeyPatch, is_blamed: bool) -> None:
    """Eight calls are sixteen events, and all are sent before the first is answered."""

    def play(ctx: Ctx) -> None:
        agents = [ctx.agent(f"a{number}") for number in range(8)]
        raced(ctx, *(partial(agent.call, "publish", message={"type": "t"}) for agent in agents))
        if is_blamed:
            ctx.blame()
        ctx.expect("worker.route.05", False, "seen")

    item = "route.one_order"
    monkeypatch.setitem(SCENARIOS["worker"], item, Scenario(item, play))
    fleet = Fleet(["sqlite:"], system="worker")
    try:
        (row,) = run_item(fleet, item)
    finally:
        fleet.close()
    for shown in (row.events, _last(row.events)):
        answered = [event["process"] for event in shown if event["type"] == "ok"]
        assert answered and all(("invoke", process) in kinds(shown) for process in answered)


def kinds(events: list[dict[str, Any]]) -> set[tuple[str, int]]:
    return {(event["type"], event["process"]) for event in events}


def test_calls_that_came_one_after_the_other_are_shown_from_the_last_few_on() -> None:
    events = [{"type": kind, "process": 0, "n": n} for n in range(9) for kind in ("invoke", "ok")]
    assert _last(events) == events[-EVENTS_SHOWN:]
