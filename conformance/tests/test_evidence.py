"""Evidence holds the step that caused it: all calls of a race, the call before a look, those that were refused."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from busproof.bus.fleet import Fleet
from busproof.oracle.models.spec import Difference, Refusal
from busproof.pages.report.terminal import EVENTS_SHOWN, _last
from busproof.play.explore.before import led_to
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


def told_before(step: Step, *called: Called) -> list[str]:
    """The steps before a difference at this step of the script, in these calls."""
    history = [([Called("1", 0, "publish", {}, 0, seen=Refusal("BUSY\n", definite=True))], ())]
    program = Program(0, STEPS[: STEPS.index(step) + 1] if step in STEPS else [*STEPS], history=[*history])
    heading, *lines = led_to(program, Mismatch(step, [*called], Difference("reply", "a", "b"), []))
    assert heading.startswith("before it, the last ")
    return [line.removeprefix("  ") for line in lines]


OPENED, PUBLISHED = "process 0 opens the store", "process 0: publish {} → refused, BUSY\\n"
RACED = ["at once:", "  not asked of this bus: process 0: ack {}", "  not asked of this bus: process 1: ack {}"]


def test_a_race_is_told_if_the_look_after_it_shows_the_difference() -> None:
    """The calls that raced, not the dump, are what went wrong."""
    assert told_before(RACE, Called("2.look", 0, "dump", {}, 0)) == [OPENED, PUBLISHED, *RACED]
    assert told_before(RACE, Called("2a", 0, "ack", {}, 0), Called("2b", 1, "ack", {}, 0)) == [OPENED, PUBLISHED]


def test_a_call_is_told_if_the_look_after_it_shows_the_difference_and_one_of_many_names_the_many() -> None:
    """With its answer: that it was refused, and why, in one line whatever its code."""
    look = call("hand", "look")
    look.name = "1.look"
    assert told_before(look, Called("1.look", "hand", "look", {}, 0)) == [OPENED, PUBLISHED]
    ack = Step("call", 0, "publish", {}, "3.7")
    many = ["9 times:", "  process 0: publish {}"]
    assert told_before(ack, Called("3.7", 0, "publish", {}, 0)) == [OPENED, PUBLISHED, *RACED, *many]


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
