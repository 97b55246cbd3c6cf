"""Plays an item of a run: a scenario, the recorded workload with its history checks, the search, or the corpus."""

from __future__ import annotations

from busproof.bus.fleet import BudgetSpent, Fleet
from busproof.contract.catalogue import CORPUS, HISTORY, catalogue, kind_of
from busproof.play.suite import rows_of
from busproof.play.ties import ORDERED, tied
from busproof.run.corpus import run_corpus
from busproof.run.history import run_history
from busproof.run.result import BUDGET_SPENT, RowResult, decided, if_broken
from busproof.run.rows import decided_by, not_judged
from busproof.run.scenario import run_scenario
from busproof.run.search import run_search
from busproof.systems import SYSTEMS


def run_item(
    fleet: Fleet, item: str, *, label: str = "bus", profile: str = "pr", seed: int | None = None
) -> list[RowResult]:
    """Play one item and decide its rows. A row that the user's budget of time did not reach is could-not-run.

    An item `corpus:NAME` is one script of the corpus, `corpus:NAME+NAME` two, `corpus:ROW` the shortest scripts that
    reach a row, `corpus:1of3` every third script from the first on, and `explore:PART` one of EXPLORE_PARTS.
    """
    try:
        results = _with_order(fleet, item, _run(fleet, item, profile, seed))
        return [result.model_copy(update={"fleet": label}) for result in results]
    except BudgetSpent:
        left = decided_by(fleet.system, item)
        results = [not_judged(fleet, row, item) or decided(row, "could-not-run", BUDGET_SPENT) for row in left]
        return [result.model_copy(update={"fleet": label}) for result in results]


def _with_order(fleet: Fleet, item: str, results: list[RowResult]) -> list[RowResult]:
    """The row of the order breaks where the messages of one moment have none, whatever held as the clock moved on.

    The workload meets such moments on any clock: what breaks there rests on the order.
    """
    if not any(result.outcome == "fail" for result in results) and not fleet.tied:
        return results
    why = tied(fleet)
    if not why:
        return results
    row = catalogue(fleet.system)[ORDERED[fleet.system].row]
    if item == HISTORY:
        rests = {"outcome": "inconclusive", "why": f"rests on {row.id}: messages of one moment have no order here"}
        results = [r.model_copy(update=rests) if r.outcome == "fail" else r for r in results]
    return [*(result for result in results if result.requirement != row.id), decided(row, if_broken(row), why)]


def _run(fleet: Fleet, item: str, profile: str, seed: int | None) -> list[RowResult]:
    if item.partition(":")[0] == CORPUS:
        return run_corpus(fleet, item)
    rows = rows_of(fleet.system, item)
    results = [result for row in rows if (result := not_judged(fleet, row, item)) is not None]
    open_rows = [row for row in rows if row.id not in {result.requirement for result in results}]
    if open_rows:
        match kind_of(item.partition(":")[0]):
            case "history":
                results += run_history(fleet, open_rows, profile, seed)
            case "explore":
                results += run_search(fleet, open_rows, item, profile, seed)
            case _:
                results += run_scenario(fleet, SYSTEMS[fleet.system].scenarios[item], open_rows)
    return results
