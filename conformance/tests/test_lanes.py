"""A difference of the corpus is drawn as those of a scenario are: its last calls as events."""

from __future__ import annotations

from busproof.oracle.models.spec import Difference, Refusal
from busproof.play.explore.lanes import CALLS_SHOWN, events_of
from busproof.play.explore.orders import Called
from busproof.play.explore.script import call
from busproof.play.explore.search import Program
from busproof.play.explore.stage import Mismatch


def called(at: int | str, method: str, seen: object = None) -> Called:
    return Called("1", at, method, {}, 0, seen={} if seen is None else seen)


def events(*groups: list[Called], differs: Called) -> list[tuple[object, str, str]]:
    """Process, type and operation of each event; `!` behind what differs."""
    program = Program(0, history=[(calls, ()) for calls in groups])
    shown = events_of(program, Mismatch(call(0, "poll"), [differs], Difference("reply", "a", "b"), []))
    assert [event["index"] for event in shown] == [*range(len(shown))]
    return [(event["process"], event["type"], event["op"] + "!" * event.get("differs", False)) for event in shown]


def test_calls_that_raced_overlap_and_the_hands_come_inside_them() -> None:
    wrong = called(1, "ack")
    assert events([called("hand", "tear"), called(0, "ack", Refusal("BUSY", True)), wrong], differs=wrong) == [
        (0, "invoke", "ack"),
        (1, "invoke", "ack"),
        ("hand", "invoke", "tear"),
        ("hand", "ok", "tear"),
        (1, "ok", "ack!"),
        (0, "fail", "ack"),
    ]


def test_what_came_after_a_choice_and_what_came_long_before_it_are_left_out() -> None:
    """A bus that chose otherwise is followed: its program goes on."""
    before, chose = [called(0, f"before{n}") for n in range(CALLS_SHOWN)], called(0, "publish", Refusal("LOST", False))
    shown = events(*([earlier] for earlier in before), [chose], [called(0, "after")], differs=chose)
    assert [op for _, kind, op in shown if kind == "invoke"] == [*(earlier.method for earlier in before[1:]), "publish"]
    assert shown[-1] == (0, "info", "publish!")
