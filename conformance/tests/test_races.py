"""A bus that looks before it locks is found every time: the schedule is forced, and does not wait for luck."""

import contextlib
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from busproof.bus.base import Refused
from busproof.bus.fleet import Fleet
from busproof.bus.warm import Warm
from busproof.contract.catalogue import catalogue
from busproof.faults.record import faults
from busproof.play.explore.script import Step, call
from busproof.play.explore.search import play
from busproof.play.scenarios import common
from busproof.play.scenarios.common import raced
from busproof.play.suite import stage
from busproof.run.runner import run_item
from busproof.systems import SYSTEMS

# These look and act without a pause between: their windows are as wide as code makes them.
LOOKERS = [
    ("worker", "looks_then_acts", 5),
    ("worker", "looks_for_room_first", 5),
    ("worker", "check_then_act", 5),
    ("worker", "exporters_do_not_wait", 5),
    ("comms", "looks_then_takes", 5),
    ("timeline", "looks_for_the_head_before_it_locks", 5),
    ("timeline", "looks_before_it_takes", 5),
    ("topics", "looks_then_joins", 5),
    ("topics", "looks_then_creates", 5),
    ("topics", "tables_one_by_one", 5),
]


@pytest.mark.parametrize(("system", "name", "times"), LOOKERS)
def test_a_look_then_act_of_natural_width_dies_every_time(warm: Warm, system: str, name: str, times: int) -> None:
    """5 of 5."""
    mutant = faults(system)[name]
    assert "sleep" not in mutant.source
    row = mutant.rows[0]
    fleet = Fleet([mutant.spec(warm)], system=system)
    try:
        outcomes = [
            result.outcome
            for _ in range(times)
            for result in run_item(fleet, mutant.item or catalogue(system)[row].item, seed=1)
            if result.requirement == row
        ]
    finally:
        fleet.close()
    assert outcomes == [outcomes[0]] * times
    assert outcomes[0] in ("fail", "warn")


def test_the_first_calls_go_out_together_and_later_ones_as_they_like() -> None:
    """A script that calls twice does not wait twice."""
    fleet = Fleet(["sqlite:"], system="worker")
    try:
        with stage(fleet, run="race") as ctx:
            a, b = ctx.agent("a"), ctx.agent("b")
            note = {"type": "note"}
            results = raced(
                ctx,
                lambda: a.call("publish", message=note),
                lambda: [b.call("publish", message=note) for _ in range(2)][-1],
            )
            assert all(isinstance(result, dict) for result in results)
            events = [(event.type, event.process) for event in ctx.history() if event.op == "publish"]
    finally:
        fleet.close()
    assert sorted(events[:2]) == [("invoke", 0), ("invoke", 1)]
    assert len(events) == 6


@pytest.mark.parametrize(("patient_s", "is_asked_again"), [(0.0, True), (3_600.0, False)])
def test_who_waited_long_for_the_lock_and_gave_up_is_asked_again(
    patient_s: float, is_asked_again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine may be that slow. The busy answer to a call that has not waited so long stands."""
    monkeypatch.setattr(common, "PATIENT_S", patient_s)
    asked: list[int] = []

    def gives_up_first() -> dict[str, object]:
        asked.append(1)
        if len(asked) > 1:
            return {"ok": True}
        time.sleep(0.01)
        raise Refused("BUSY", "database is locked", definite=True)

    fleet = Fleet(["sqlite:"], system="worker")
    try:
        with stage(fleet, run="race") as ctx:
            first, other = raced(ctx, gives_up_first, dict)
    finally:
        fleet.close()
    assert other == {}
    assert len(asked) == 1 + is_asked_again
    assert (first == {"ok": True}) == is_asked_again
    assert is_asked_again or isinstance(first, Refused)


def test_answers_that_are_right_alone_and_not_together_break_the_row_of_isolation(warm: Warm) -> None:
    """Two transitions from one state both won: each is right in some order, and no order makes both right."""
    specification = SYSTEMS["worker"].model
    assert specification is not None
    ways = enumerate(("WORKING", "CANCELLED"))
    both = [call(at, "transition", worker="w", from_state="ASSIGNED", to_state=to_state) for at, to_state in ways]
    assigned = call(0, "transition", worker="w", to_state="ASSIGNED")
    steps = [Step("open", 0), Step("open", 1), assigned, Step("race", calls=both)]
    fleet = Fleet([faults("worker")["looks_then_acts"].spec(warm)], system="worker")
    try:
        program = play(fleet, specification, steps)
    finally:
        fleet.close()
    assert program.mismatch is not None
    assert "worker.log.66" in program.mismatch.rows


def test_a_race_that_a_choice_explains_breaks_no_row_of_isolation() -> None:
    """Two contents under one id are both answered, as they would be in turn: until the bus is of two minds about that,
    only the sentence of the choice is broken."""
    specification = SYSTEMS["worker"].model
    assert specification is not None

    def publish(at: int, payload: Any) -> Step:
        message = {"type": "t", "id": "x", "payload": payload}
        return replace(call(at, "publish", agent_id="ann", message=message), name=f"{payload}")

    race = Step("race", calls=[publish(0, {"a": 1}), publish(1, {"a": 2})], name="race")
    steps = [Step("open", 0, name="0"), Step("open", 1, name="1"), race]
    naive = Path(__file__).parents[1] / "examples/naive_worker/adapter.py"
    with contextlib.closing(Fleet([f"exec:{sys.executable} {naive}"], system="worker")) as fleet:
        followed = play(fleet, specification, steps)
        broken = play(
            fleet, specification, [*steps, publish(0, [])]
        )  # which it cannot store, whatever was there before
    assert (followed.mismatch, [*followed.learnt]) == (None, ["worker.log.11"])
    assert broken.mismatch is not None
    assert broken.mismatch.rows == ("worker.log.11",)
