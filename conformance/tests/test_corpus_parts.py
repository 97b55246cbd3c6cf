"""`busproof check` plays the corpus and the search in parts, side by side, and decides what it would of the whole."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools

import pytest

from busproof.catalogue import CORPUS, EXPLORE
from busproof.fleet import Fleet, reference
from busproof.pytest_run import PARTS, _joined
from busproof.runner import NOT_REACHED, VALUE_PROGRAMS, Outcome, RowResult, _programs, _scripts_of
from busproof.suite import rows_of
from busproof.systems import SYSTEMS
from busproof.warm import Warm


def result(outcome: Outcome, why: str = "", check: str = "corpus") -> RowResult:
    return RowResult(requirement="worker.log.01", outcome=outcome, check=check, fleet="bus", why=why)


@pytest.mark.parametrize("system", SYSTEMS)
def test_each_script_is_in_one_part(system: str) -> None:
    whole = _scripts_of(system, "corpus")
    parts = [_scripts_of(system, part) for part in PARTS[CORPUS]]
    assert sorted(name for part in parts for name in part) == sorted(whole)
    assert min(map(len, parts)) >= len(whole) // len(parts) > 0


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_part_that_did_not_run_leaves_the_rows_of_the_corpus_undecided(system: str) -> None:
    for part in PARTS[CORPUS]:
        assert rows_of(system, part) == rows_of(system, "corpus")


def test_what_one_part_does_not_reach_another_decides() -> None:
    for decided in (result("pass"), result("fail", "broken"), result("warn", "chose otherwise")):
        assert _joined([result("could-not-run", NOT_REACHED), decided]) == [decided]
        assert _joined([decided, result("inconclusive", f"{NOT_REACHED}: these broke before: x")]) == [decided]


def test_what_no_part_reaches_stays_open_and_so_does_what_was_not_played() -> None:
    unreached = [result("could-not-run", NOT_REACHED)] * 3
    assert _joined(unreached) == unreached
    unplayed = [result("pass"), result("could-not-run", "the time of --budget was over before it was decided")]
    assert _joined(unplayed) == unplayed
    by_scenario = [result("pass", check="log.publish"), result("could-not-run", NOT_REACHED)]
    assert _joined(by_scenario) == by_scenario


def test_the_parts_of_the_search_play_what_the_whole_plays(monkeypatch: pytest.MonkeyPatch, warm: Warm) -> None:
    assert SYSTEMS["worker"].model is not None
    specification = dataclasses.replace(SYSTEMS["worker"].model, programs=2)
    monkeypatch.setitem(VALUE_PROGRAMS, "pr", 3)

    def played(item: str) -> list[str]:
        with contextlib.closing(Fleet([warm.spec(reference("worker"))], system="worker")) as fleet:
            return [again for _, again in _programs(fleet, specification, item, "pr", 7)]

    parts = [played(part) for part in PARTS[EXPLORE]]
    assert [len(part) for part in parts] == [2, 3]
    assert [*itertools.chain(*parts)] == played(EXPLORE)
