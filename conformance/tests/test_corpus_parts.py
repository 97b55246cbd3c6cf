"""`busproof check` plays the corpus and the search in parallel parts, and decides the same as if they were whole."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import sys
from pathlib import Path

import pytest

from busproof.bus.fleet import BudgetSpent, Fleet, reference
from busproof.bus.warm import Warm
from busproof.contract.catalogue import CORPUS, EXPLORE, HISTORY
from busproof.faults.record import faults
from busproof.pages.report import terminal
from busproof.pages.report.lines import Report
from busproof.play.explore import corpus
from busproof.play.suite import rows_of
from busproof.run.corpus import _scripts_of
from busproof.run.items import PARTS, _cut_short, _joined
from busproof.run.result import BUDGET_SPENT, NOT_REACHED, Outcome, RowResult
from busproof.run.runner import run_item
from busproof.run.search import RETOLD_PROGRAMS, VALUE_PROGRAMS, _programs
from busproof.systems import SYSTEMS


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


def test_a_part_that_ends_early_says_how_many_scripts_it_did_not_play(
    monkeypatch: pytest.MonkeyPatch, warm: Warm
) -> None:
    """Enough had broken: the next faults come to light when these are mended."""
    monkeypatch.setattr(corpus, "ENOUGH", 1)
    not_played = []
    asked = {"corpus:1of9": faults("worker")["ack_goes_back"].spec(warm), "corpus:1of60": reference("worker")}
    for part, bus in asked.items():
        with contextlib.closing(Fleet([bus], system="worker")) as fleet:
            not_played.append(run_item(fleet, part)[0].not_played)
    assert 0 < not_played[0] < len(_scripts_of("worker", "corpus:1of9"))
    assert len(_scripts_of("worker", "corpus:1of60")) > 1
    assert not_played[1] == 0


def test_a_script_that_breaks_another_row_is_not_one_of_those_that_end_the_corpus(
    monkeypatch: pytest.MonkeyPatch, warm: Warm
) -> None:
    monkeypatch.setattr(corpus, "ENOUGH", 1)
    specification = SYSTEMS["worker"].model
    assert specification is not None
    bus = faults("worker")["ack_goes_back"].spec(warm)
    with contextlib.closing(Fleet([bus], system="worker")) as fleet:
        replay = corpus.replay(fleet, specification, _scripts_of("worker", "corpus:1of9"))
    broken = [program.mismatch.rows for program in replay.broken.values() if program.mismatch is not None]
    is_new = [bool(set(rows) - {row for before in broken[:at] for row in before}) for at, rows in enumerate(broken)]
    assert is_new == [True] * (len(broken) - 1) + [False]


def test_the_shortest_script_is_played_first(monkeypatch: pytest.MonkeyPatch, warm: Warm) -> None:
    monkeypatch.setattr(corpus, "ENOUGH", 0)  # stop behind the first one
    specification, scripts = SYSTEMS["worker"].model, _scripts_of("worker", "corpus:1of9")
    assert specification is not None
    with contextlib.closing(Fleet([warm.spec(reference("worker"))], system="worker")) as fleet:
        replay = corpus.replay(fleet, specification, scripts)
        shortest = min(sum(1 + step.times * len(step.calls) for step in steps) for steps in scripts.values())
    assert replay.not_played == len(scripts) - 1
    assert 0 < replay.calls <= shortest


def test_what_one_part_does_not_reach_another_decides() -> None:
    for decided in (result("pass"), result("fail", "broken"), result("warn", "chose otherwise")):
        assert _joined([result("could-not-run", NOT_REACHED), decided]) == [decided]
        assert _joined([decided, result("inconclusive", f"{NOT_REACHED}: these broke before: x")]) == [decided]


def test_a_row_that_one_part_broke_is_not_told_as_open_by_another() -> None:
    """The time was over in that one. On another fleet it is open all the same, and so is a row that held."""
    broken, spent = result("fail", "broken"), result("could-not-run", BUDGET_SPENT)
    assert _joined([spent, broken]) == [broken]
    mixed = spent.model_copy(update={"fleet": "mixed"})
    assert _joined([mixed, broken]) == [mixed, broken]


def test_what_no_part_reaches_stays_open_and_so_does_what_was_not_played() -> None:
    unreached = [result("could-not-run", NOT_REACHED)] * 3
    assert _joined(unreached) == unreached
    unplayed = [result("pass"), result("could-not-run", "the time of --budget was over before it was decided")]
    assert _joined(unplayed) == unplayed
    by_scenario = [result("pass", check="log.publish"), result("could-not-run", NOT_REACHED)]
    assert _joined(by_scenario) == by_scenario


@pytest.mark.parametrize("item", [f"{CORPUS}:1of3", "log.idempotent_publish", HISTORY])
def test_a_budget_that_ends_in_the_middle_of_an_item_ends_it(
    item: str, warm: Warm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was good until then is no pass: the rest of it was not seen. And nothing more is sent."""
    asked = itertools.count()

    def spent(fleet: Fleet) -> None:
        if next(asked) >= 4:
            raise BudgetSpent

    with contextlib.closing(Fleet([warm.spec(reference("worker"))], system="worker")) as fleet:
        monkeypatch.setattr(Fleet, "goes_on", spent)
        results = run_item(fleet, item, seed=1)
    assert {(row.outcome, row.why) for row in results} == {("could-not-run", BUDGET_SPENT)}
    assert next(asked) == 5


def test_the_parts_of_the_search_play_what_the_whole_plays(monkeypatch: pytest.MonkeyPatch, warm: Warm) -> None:
    assert SYSTEMS["worker"].model is not None
    specification = dataclasses.replace(SYSTEMS["worker"].model, programs=2)
    monkeypatch.setitem(RETOLD_PROGRAMS, "pr", 4)
    monkeypatch.setitem(VALUE_PROGRAMS, "pr", 3)

    def played(item: str) -> list[str]:
        with contextlib.closing(Fleet([warm.spec(reference("worker"))], system="worker")) as fleet:
            return [again for _, again in _programs(fleet, specification, item, "pr", 7)]

    parts = [played(part) for part in PARTS[EXPLORE]]
    assert [len(part) for part in parts] == [2, 4, 3]
    assert [*itertools.chain(*parts)] == played(EXPLORE)


def test_what_the_corpus_did_not_ask_of_a_bus_is_told_by_method(capsys: pytest.CaptureFixture[str]) -> None:
    """A bus of the core alone is asked for no claim, and the report says so: a verdict says nothing of it."""
    minimal = Path(__file__).parents[1] / "examples" / "minimal_python" / "adapter.py"
    name, steps = next(
        (name, steps)
        for name, steps in corpus.scripts("worker").items()
        if any(step.method == "try_claim_task" for step in steps)
    )
    with contextlib.closing(Fleet([f"exec:{sys.executable} {minimal}"], system="worker")) as fleet:
        (result, *_) = run_item(fleet, f"corpus:{name}", label="bus", profile="pr", seed=1)
        hello = fleet.hello.model_dump()
    asked = sum(step.method == "try_claim_task" and step.do == "call" for step in steps)
    assert result.left_out["try_claim_task"] >= asked > 0
    assert sum(result.left_out.values()) <= result.calls
    header = {"system": "worker", "hello": hello, "left_out": (7, result.calls), "not_asked": result.left_out}
    footer = {"counts": {}, "known_failed": [], "verdict": "unknown"}
    terminal.render(Report(header, [], footer))
    out = " ".join(capsys.readouterr().out.split())
    assert f"try_claim_task {result.left_out['try_claim_task']}" in out


def test_a_row_that_held_in_a_corpus_that_was_cut_short_is_undecided() -> None:
    """Asked for by its id, its verdict was VALID above "ended early, as enough had broken"."""
    held = RowResult(requirement="worker.log.13", outcome="pass", check="corpus", fleet="bus")
    assert _cut_short(held) == held
    cut = _cut_short(held.model_copy(update={"not_played": 3}))
    assert (cut.outcome, cut.why.partition(",")[0]) == ("inconclusive", "it held")
    failed = held.model_copy(update={"outcome": "fail", "not_played": 3})
    assert _cut_short(failed) == failed
