"""Every problem that an act shows fails a row: none is told and then forgotten."""

from __future__ import annotations

from pathlib import Path

import pytest

from buschaos import report
from buschaos.acts import acts_of
from buschaos.acts.base import Findings
from buschaos.acts.holds import WITH_OTHERS
from buschaos.run import Run
from buschaos.state import Problem
from buschaos.subjects import SUBJECTS
from busproof.contract import CONTRACTS, HelloReply
from busproof.contract.catalogue import catalogue

ACTS = [
    (system, act.name, noun)
    for system in SUBJECTS
    for act in acts_of(system)
    for noun in sorted({row.noun for row in catalogue(system).values()})
]


def _hello(system: str) -> HelloReply:
    """The hello of a bus that has everything."""
    contract = CONTRACTS[system]
    return HelloReply.model_validate(
        {
            "protocol": "1",
            "name": "x",
            "version": "1",
            "language": "python",
            "systems": [system],
            "nouns": sorted({row.noun for row in catalogue(system).values()}),
            "features": sorted(contract.features),
            "clock": "manual",
        }
    )


@pytest.mark.parametrize(("system", "name", "noun"), ACTS)
def test_a_problem_of_any_noun_fails_a_row_of_the_act_that_showed_it(system: str, name: str, noun: str) -> None:
    """Even if no row of that act is of that noun."""
    act = Findings(name)
    is_dialect = not any(row.level == "MUST" for row in catalogue(system).values() if row.check == name)
    act.problems.append((Problem(noun, "something that must not be", is_dialect=is_dialect), Path("/nowhere")))
    rows = report.rows(Run(_hello(system), [act]), system)
    assert {"warn" if is_dialect else "fail"} <= {row.outcome for row in rows}


def test_a_narrow_row_says_nothing_of_what_another_row_of_its_act_answers_for() -> None:
    """A folder that is opened twice loses nobody's copy."""
    act = Findings("chaos.holds")
    act.problems.append((Problem("lease", "two have it"), Path("/nowhere")))
    act.counts["points held"] = 9
    outcome_of = {row.requirement: row.outcome for row in report.rows(Run(_hello("relay"), [act]), "relay")}
    assert outcome_of == {"relay.lease.16": "fail", "relay.log.67": "inconclusive"}  # nobody was there to take one
    act.counts[WITH_OTHERS] = 9
    outcome_of = {row.requirement: row.outcome for row in report.rows(Run(_hello("relay"), [act]), "relay")}
    assert outcome_of == {"relay.lease.16": "fail", "relay.log.67": "pass"}


def test_a_narrow_row_does_not_answer_for_what_has_no_row() -> None:
    """In an act with a row of the log that one does: a lost count is no lost line of the trail."""
    act = Findings("chaos.holds")
    act.problems.append((Problem("presence", "a message is counted twice"), Path("/nowhere")))
    act.counts[WITH_OTHERS] = 9
    outcome_of = {row.requirement: row.outcome for row in report.rows(Run(_hello("comms"), [act]), "comms")}
    passed = dict.fromkeys(("comms.lease.27", "comms.lease.28", "comms.export.11"), "pass")
    assert outcome_of == {"comms.log.95": "fail", **passed}


@pytest.mark.parametrize(("system", "name"), sorted({(system, name) for system, name, _ in ACTS}))
def test_an_act_that_did_nothing_passes_no_row(system: str, name: str) -> None:
    """As with --only OP, if OP has no part in it."""
    rows = report.rows(Run(_hello(system), [Findings(name)]), system)
    assert {row.outcome for row in rows} == {"inconclusive"}


def test_an_act_that_broke_off_passes_no_row_and_forgets_no_problem() -> None:
    """The problems found by then fail its rows."""
    act = Findings("chaos.kill_points", could_not_run="it broke off: a call was refused")
    act.counts["points killed"] = 9
    outcomes = {row.outcome for row in report.rows(Run(_hello("comms"), [act]), "comms")}
    assert outcomes == {"could-not-run"}
    act.problems.append((Problem("log", "something that must not be"), Path("/nowhere")))
    assert "fail" in {row.outcome for row in report.rows(Run(_hello("comms"), [act]), "comms")}


def test_a_row_of_a_noun_of_which_no_operation_was_asked_for_does_not_pass() -> None:
    """With --only complete_message nothing was shown of artifacts."""
    act = Findings("chaos.kill_points", nouns=frozenset({"lease"}))
    act.counts["points killed"] = 9
    for row in report.rows(Run(_hello("comms"), [act]), "comms"):
        is_shown = catalogue("comms")[row.requirement].noun in ("lease", "log")
        assert row.outcome == ("pass" if is_shown else "inconclusive")


def test_a_place_that_shows_a_problem_again_is_told_before_one_that_showed_it_by_luck() -> None:
    """Where the peer waited, the machine chose which of the two went on first: a replay may end otherwise."""
    act = Findings("chaos.holds")
    act.counts.update({WITH_OTHERS: 1})
    for place, is_by_luck in (("2:hold", True), ("3:hold", False)):
        act.problems.append((Problem("lease", "two hold it", point=place, is_by_luck=is_by_luck), Path("/nowhere")))
    failed = [row for row in report.rows(Run(_hello("worker"), [act]), "worker") if row.outcome == "fail"]
    assert failed
    assert all(row.why.startswith("3:hold: two hold it") for row in failed)
