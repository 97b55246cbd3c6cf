"""One fault of a bus breaks many rows, in many scripts: it is told once, and every row with its own evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from busproof.bus.base import HOW_LONG
from busproof.bus.fleet import Fleet
from busproof.bus.warm import Warm
from busproof.faults.record import faults
from busproof.oracle.models.spec import Refusal, differs
from busproof.pages.report.causes import by_first_row, causes, chosen, first_step, held_elsewhere, others, settled
from busproof.pages.report.lines import summary
from busproof.play.explore.orders import Called
from busproof.play.explore.script import call
from busproof.play.explore.stage import Mismatch
from busproof.run.result import BUDGET_SPENT, NO_END
from busproof.run.runner import run_item


@pytest.mark.parametrize(
    ("why", "step"),
    [
        (BUDGET_SPENT, "give the run more time, `--budget 1h`"),
        (f"explore {NO_END}", "play it alone, and see what the bus writes"),
        ("the check needs a dump", "see what it lacks: the check needs a dump"),
    ],
)
def test_what_could_not_run_has_a_first_step_that_is_not_its_reason_again(why: str, step: str) -> None:
    """A stranger was told to see what it lacks: it did not come to an end."""
    assert first_step({"outcome": "could-not-run", "why": why}).startswith(step)


def test_rows_with_the_same_evidence_are_one_cause() -> None:
    """And what shows on the bus alone is not told again for the mixed fleet."""
    seen = [("a", "fail", "x", "bus"), ("b", "fail", "x", "bus"), ("c", "fail", "y", "bus"), ("d", "pass", "", "bus")]
    seen += [("a", "fail", "z", "mixed"), ("e", "fail", "y", "mixed")]
    rows = [dict(zip(("requirement", "outcome", "why", "fleet"), row, strict=True)) for row in seen]
    assert [[row["requirement"] for row in cause] for cause in causes(rows)] == [["a", "b"], ["c", "e"]]


def test_a_row_that_breaks_in_many_ways_is_told_once() -> None:
    """With the first of them; a row that only another way breaks is in that one's cause."""
    pairs = [("a", "x"), ("b", "x"), ("a", "y"), ("c", "y"), ("c", "z")]
    rows = [{"requirement": name, "outcome": "fail", "why": why, "fleet": "bus"} for name, why in pairs]
    together = by_first_row(causes(rows))
    assert [[[row["requirement"] for row in cause] for cause in alike] for alike in together] == [
        [["a", "b"], ["a", "c"]],
        [["c"]],
    ]


def test_a_row_that_is_told_under_anothers_evidence_names_the_script_that_has_its_own() -> None:
    """Once; the first one's row and script are there already."""
    pairs = [("a", "1"), ("b", "1"), ("a", "2"), ("c", "2"), ("c", "3")]
    rows: list[dict[str, Any]] = [
        {"requirement": name, "why": f"x\nscript {script} of the corpus; play it again: y"} for name, script in pairs
    ]
    assert others(rows) == ["b", "c (script 2)"]


def test_of_scripts_that_show_one_cause_the_shortest_is_shown() -> None:
    rows = [
        {"requirement": name, "outcome": "fail", "fleet": "bus", "why": name, "cause": "one", "steps": steps}
        for name, steps in (("a", 57), ("b", 7), ("c", 30))
    ]
    assert [[row["requirement"] for row in cause] for cause in causes(rows)] == [["b", "c", "a"]]


def test_a_row_that_held_in_other_scripts_is_looked_at_last() -> None:
    """The more often a sentence held, the less likely it is that the fault is in it."""
    rows = [
        {"requirement": name, "outcome": "fail", "fleet": "bus", "why": name, "cause": "one", "steps": 3, "held": held}
        for name, held in (("a", 57), ("b", 0), ("c", 2), ("d", 0))
    ]
    (cause,) = causes(rows)
    assert [row["requirement"] for row in cause] == ["b", "d", "c", "a"]
    assert others(cause) == ["d", "c"] and held_elsewhere(cause) == ["a"]
    (all_held,) = causes([row for row in rows if row["held"]])
    assert others(all_held) == [] and held_elsewhere(all_held) == ["a"]


def test_calls_that_were_not_answered_in_time_are_one_cause_and_each_row_stays_broken() -> None:
    """In scripts of the kit and of the corpus, whatever was called; a bus that ended is another matter."""
    slow = [f"no answer to {method} in {s} s; {HOW_LONG}" for method, s in (("ack", 10), ("poll", 30), ("publish", 30))]
    whys = [f"the bus did not answer: {slow[0]}", *slow[1:], "the bus ended before it answered ack: exit status 1"]
    rows: list[dict[str, Any]] = [
        {"requirement": name, "outcome": "fail", "fleet": "bus", "why": why, "cause": why, "held": held}
        for name, why, held in zip("abcd", whys, (0, 9, 0, 9), strict=True)
    ]
    assert [[row["requirement"] for row in cause] for cause in causes(rows)] == [["a", "c", "b"], ["d"]]
    assert settled(rows) == rows


def test_a_row_that_fails_only_in_differences_of_others_is_blocked_by_one() -> None:
    """Not one that also fails where nothing else is more likely, nor the first itself."""
    likelihoods = [("a", "x", 9), ("b", "x", 1), ("c", "x", 3), ("d", "x", 9), ("d", "y", 9)]
    rows = [
        {"requirement": name, "outcome": "fail", "fleet": "bus", "why": name, "cause": cause, "held": held}
        for name, cause, held in likelihoods
    ]
    outcomes = [(row["requirement"], row["outcome"]) for row in settled(rows)]
    assert outcomes == [("a", "inconclusive"), ("b", "fail"), ("c", "fail"), ("d", "fail"), ("d", "fail")]
    assert settled(rows)[0]["why"].startswith("blocked by b: ")


def test_a_known_failure_that_is_blocked_by_another_decides_no_verdict_and_one_that_could_not_run_does() -> None:
    """Nor is a part unknown in which rows only warn."""

    def verdict(*outcomes: str, known: Sequence[str] = ()) -> str:
        rows = [{"requirement": str(number), "outcome": outcome} for number, outcome in enumerate(outcomes)]
        return str(summary({"known": known}, rows)["verdict"])

    assert verdict("pass", "fail", "inconclusive", known=["1", "2"]) == "valid"
    assert verdict("pass", "fail", "inconclusive", known=["1"]) == "unknown"
    assert verdict("pass", "could-not-run", known=["1"]) == "unknown"
    assert verdict("warn") == "valid"
    assert verdict("not-applicable") == "unknown"


def test_a_choice_beside_a_broken_must_is_not_told_as_one() -> None:
    seen = [("a", "fail", "x", "bus"), ("b", "warn", "x", "bus"), ("c", "warn", "", "bus"), ("d", "warn", "", "mixed")]
    rows = [dict(zip(("requirement", "outcome", "cause", "fleet"), row, strict=True)) for row in seen]
    assert [row["requirement"] for row in chosen(rows)] == ["c"]


def mismatch(method: str, expected: Any, seen: Any) -> Mismatch:
    """Of a call that ended so."""
    different = differs(expected, seen)
    assert different is not None
    return Mismatch(call(0, method, {}), [Called("1", 0, method, {}, 0, seen=seen)], different, [])


def test_a_cause_is_a_difference_without_its_values() -> None:
    """The same member of another row, of another number: one cause. Another member, or another method: another one."""
    first = mismatch("dump", {"cursors": [{"at": 1, "seq": 2}]}, {"cursors": [{"at": None, "seq": 2}]})
    again = mismatch("dump", {"cursors": [{}, {"at": 7}]}, {"cursors": [{}, {"at": None}]})
    member = mismatch("dump", {"cursors": [{"at": 1, "seq": 2}]}, {"cursors": [{"at": 1, "seq": 3}]})
    method = mismatch("poll", {"cursors": [{"at": 1}]}, {"cursors": [{"at": None}]})
    assert first.cause == again.cause
    assert len({first.cause, member.cause, method.cause}) == 3


def test_one_refusal_of_many_methods_is_one_cause() -> None:
    """A value that a bus does not take anywhere."""
    refused = [
        mismatch(name, {"done": True}, Refusal("BAD", definite=True, message="no 7")) for name in ("ack", "poll")
    ]
    other = mismatch("ack", {"done": True}, Refusal("BUSY", definite=True, message="no 7"))
    assert refused[0].cause == refused[1].cause != other.cause


@pytest.mark.nightly
def test_a_mutant_has_fewer_causes_than_scripts_that_it_breaks(warm: Warm) -> None:
    """Each row that is broken stands under one of them. Each part of the corpus shows it by a script of its own."""
    fleet = Fleet([faults("worker")["ack_goes_back"].spec(warm)], system="worker")
    try:
        parts = [run_item(fleet, f"corpus:{part}of9", seed=1) for part in (1, 2, 3)]
        rows = [result.model_dump() for part in parts for result in part]
    finally:
        fleet.close()
    failed = {row["requirement"] for row in rows if row["outcome"] == "fail"}
    failing = [cause for cause in causes(rows) if cause[0]["outcome"] == "fail"]
    assert {row["requirement"] for cause in failing for row in cause} == failed
    assert len(failing) < len({row["why"] for row in rows if row["outcome"] == "fail"})
