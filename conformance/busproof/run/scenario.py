"""An item that is a scenario: what it expected decides its rows."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable

from busproof.bus.base import DoorError
from busproof.bus.fleet import BudgetSpent, Fleet
from busproof.contract.catalogue import Requirement, catalogue
from busproof.contract.history import Event
from busproof.play.suite import Ctx, Finding, Scenario, stage
from busproof.play.ties import tied
from busproof.run.result import Outcome, RowResult, decided, if_broken, what_ended_it
from busproof.run.rows import not_judged
from busproof.run.shown import operations_of, script_of

PLAYS_OF_LUCK, LUCK_S = 12, 6.0  # of a race that is not forced: two in three show a wide window, each time anew


def run_scenario(fleet: Fleet, scenario: Scenario, rows: list[Requirement]) -> list[RowResult]:
    """One play decides, unless a race in it could not be forced: then as many good ones as there is time for."""
    results, is_by_luck = _played(fleet, scenario, rows)
    if not _is_good(results) and not fleet.tied and tied(fleet):
        results, is_by_luck = _played(fleet, scenario, rows)
    until, plays = time.monotonic() + LUCK_S, 1
    with contextlib.suppress(BudgetSpent):  # the plays before have decided
        while is_by_luck and plays < PLAYS_OF_LUCK and time.monotonic() < until and _is_good(results):
            (results, is_by_luck), plays = _played(fleet, scenario, rows), plays + 1
    return results


def _is_good(results: list[RowResult]) -> bool:
    return all(result.outcome == "pass" for result in results)


def _played(fleet: Fleet, scenario: Scenario, rows: list[Requirement]) -> tuple[list[RowResult], bool]:
    ended: tuple[Outcome, str] | None = None
    try:
        with stage(fleet, run=scenario.name, options=scenario.options, alone=scenario.alone) as ctx:
            try:
                scenario.play(ctx)
            except Exception as error:
                ended = what_ended_it(error)
            return _decide(rows, ctx, ended), ctx.is_by_luck
    except DoorError as error:
        outcome, why = what_ended_it(error)
        return [decided(row, outcome, f"the bus could not be opened: {why}") for row in rows], False


def _decide(rows: list[Requirement], ctx: Ctx, ended: tuple[Outcome, str] | None) -> list[RowResult]:
    """A row passes only where its script ran to its end: there may have been more to expect of it.

    A script may see the sentence of another script's row broken: that row fails, and blocks those it leaves undecided.
    If a row broke before the script did, the rows that were not reached are blocked by it. If none had, the
    break is the fault of the rows that were not reached, or, if all were, of them all.
    """
    events = ctx.history()
    broken = {finding.requirement: finding for finding in reversed(ctx.findings) if not finding.ok}
    own = {row.id for row in rows}
    of_others = [_failed(row, ctx, events, broken[row.id]) for row in _judged_rows(ctx.fleet, broken.keys() - own)]
    reached = {finding.requirement for finding in ctx.findings}
    first = next((finding.requirement for finding in ctx.findings if not finding.ok), "")
    is_all_reached = all(row.id in reached for row in rows)
    results = []
    for row in rows:
        if row.id in broken:
            results.append(_failed(row, ctx, events, broken[row.id]))
        elif ended is None and row.id in reached:
            results.append(decided(row, "pass"))
        elif ended is None and first:
            results.append(decided(row, "inconclusive", f"blocked by {first}, which leaves nothing to look at"))
        elif ended is None:
            results.append(decided(row, "could-not-run", "the script ended without deciding this row"))
        elif first and row.id not in reached:
            results.append(
                decided(row, "inconclusive", f"blocked by {first}, after which the script broke: {ended[1]}")
            )
        elif ended[0] != "fail" and not first:
            results.append(decided(row, *ended))
        elif first or (row.id in reached and not is_all_reached):
            results.append(decided(row, "inconclusive", f"the script broke before its end: {ended[1]}"))
        else:
            results.append(_failed(row, ctx, events, Finding(row.id, False, ended[1], len(events))))
    return results + of_others


def _judged_rows(fleet: Fleet, names: Iterable[str]) -> list[Requirement]:
    """The rows of other items, which decide them as well: a script shows their breakage, and is blocked by it."""
    rows = [catalogue(fleet.system)[name] for name in sorted(names)]
    return [row for row in rows if not_judged(fleet, row, row.item) is None]


def _failed(row: Requirement, ctx: Ctx, events: list[Event], finding: Finding) -> RowResult:
    script = script_of(events, finding, ctx.opened_with)
    return decided(row, if_broken(row), finding.why, events=operations_of(events, finding), script=script)
