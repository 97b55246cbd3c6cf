"""The rows of an item, and those that a bus cannot be asked for."""

from __future__ import annotations

import functools

from busproof.bus.fleet import Fleet
from busproof.contract.catalogue import CORPUS, HISTORY, Requirement, catalogue
from busproof.play.explore import corpus
from busproof.play.suite import rows_of
from busproof.run.result import RowResult, a_clock, decided
from busproof.systems import SYSTEMS


def item_names(system: str) -> list[str]:
    """Every check that `busproof check` plays, in the order of the catalogue. Chaos rows are another run (0006)."""
    names = dict.fromkeys(row.item for row in catalogue(system).values() if row.item not in ("", CORPUS, HISTORY))
    return [*([CORPUS] if SYSTEMS[system].model else []), *names, HISTORY]


def decided_by(system: str, item: str) -> list[Requirement]:
    """The rows that stay open until an item is played to its end: the corpus may break all that the model names."""
    rows = {row.id: row for row in rows_of(system, item)}
    kind, _, wanted = item.partition(":")
    if kind == CORPUS and wanted in catalogue(system):
        return [catalogue(system)[wanted]]
    if kind == CORPUS:
        rows |= {row.id: row for row in catalogue(system).values() if row.item and row.id in cited(system)}
    return list(rows.values())


@functools.cache
def cited(system: str) -> set[str]:
    """The rows that branches of the model name."""
    return corpus.cited(SYSTEMS[system].model)


def not_judged(fleet: Fleet, row: Requirement, item: str) -> RowResult | None:
    """not-applicable or could-not-run, if the bus or the machine lacks something that the row needs."""
    hello = fleet.hello
    scenario = SYSTEMS[fleet.system].scenarios.get(item)
    needs = {*row.needs, *(scenario.needs if scenario else ()), row.noun}
    missing = sorted(needs - {"clock"} - {*hello.nouns, *hello.features, *hello.limits})
    if missing:
        return decided(row, "not-applicable", _undeclared(fleet, missing))
    if "clock" in needs and hello.clock == "wall":
        return decided(row, "could-not-run", f"needs {a_clock(fleet.specs[0])}")
    return None


def _undeclared(fleet: Fleet, missing: list[str]) -> str:
    """The member of the fleet that lacks these; what the bus itself lacks is told of the bus."""
    own = fleet.hellos[0]
    of_the_bus = [name for name in missing if name not in (*own.nouns, *own.features, *own.limits)]
    who = "the bus" if of_the_bus else "the other bus of the mixed fleet"
    return f"{who} does not declare {', '.join(of_the_bus or missing)}"
