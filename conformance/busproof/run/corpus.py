"""An item that is the corpus, or a part of it: the model's answers decide its rows."""

from __future__ import annotations

import re

from busproof.bus.fleet import Fleet
from busproof.bus.warm import is_warm
from busproof.contract.catalogue import CORPUS, Requirement, catalogue
from busproof.play.explore import corpus
from busproof.play.explore.script import Step
from busproof.play.explore.stage import Specification
from busproof.run.result import BUDGET_SPENT, NOT_REACHED, RowResult, a_clock, decided, if_broken
from busproof.run.rows import decided_by, not_judged
from busproof.systems import SYSTEMS


def run_corpus(fleet: Fleet, item: str) -> list[RowResult]:
    """Rows of the branches that the scripts reach: if an answer is not the model's they break, the others hold."""
    specification = SYSTEMS[fleet.system].model
    own = [row for row in decided_by(fleet.system, item) if row.item == CORPUS]
    if specification is None or (specification.needs_clock and fleet.hello.clock == "wall"):
        why = f"the corpus needs {a_clock(fleet.specs[0])}"
        return [not_judged(fleet, row, CORPUS) or decided(row, "could-not-run", why) for row in own]
    rows = catalogue(fleet.system)
    wanted = item.partition(":")[2]
    if wanted in rows:
        replay = _asked_of_the_corpus(fleet, specification, wanted)
    else:
        replay = corpus.replay(fleet, specification, _scripts_of(fleet.system, item))
    broken = corpus.broken_rows(fleet.system, replay, "" if is_warm(fleet.specs[0]) else fleet.specs[0])
    held = [rows[name] for name in sorted(replay.rows.keys() - broken.keys()) if name in rows and rows[name].item]
    results = [
        decided(
            rows[name],
            if_broken(rows[name]),
            broken_row.why,
            cause=broken_row.cause,
            steps=broken_row.steps,
            held=broken_row.held,
            events=list(broken_row.events),
        )
        for name, broken_row in broken.items()
    ]
    if replay.is_cut:
        left = [row for row in decided_by(fleet.system, item) if row.id not in broken]
        results += [not_judged(fleet, row, CORPUS) or decided(row, "could-not-run", BUDGET_SPENT) for row in left]
    else:
        results += [decided(row, "pass") for row in held]
        results += [_not_reached(fleet, row, replay) for row in own if row.id not in replay.rows.keys() | broken.keys()]
    counts = {"left_out": dict(replay.left_out), "calls": replay.calls + replay.left_out.total()}
    counts |= {"check": CORPUS, "not_played": replay.not_played, "undecided": replay.undecided}
    return [result.model_copy(update=counts) for result in results]


def _asked_of_the_corpus(fleet: Fleet, specification: Specification, row: str) -> corpus.Replay:
    """One row: the shortest scripts that reach it on the reference; all others, if on this bus they do not."""
    reaching = corpus.index(fleet.system).get(row, [])
    replay = corpus.replay(fleet, specification, corpus.scripts(fleet.system, only=reaching))
    blamed = {broken for program in replay.broken.values() if program.mismatch for broken in program.mismatch.rows}
    if row in {*replay.rows, *blamed, *(name.partition(":")[0] for name in replay.dialects)} or replay.is_cut:
        return replay
    return corpus.replay(fleet, specification, corpus.scripts(fleet.system))


def _scripts_of(system: str, item: str) -> dict[str, list[Step]]:
    wanted = item.partition(":")[2]
    if part := re.fullmatch(r"(\d+)of(\d+)", wanted):
        return corpus.scripts(system, only=corpus.names(system)[int(part[1]) - 1 :: int(part[2])])
    return corpus.scripts(system, only=wanted.split("+") if wanted else None)


def _not_reached(fleet: Fleet, row: Requirement, replay: corpus.Replay) -> RowResult:
    """A row that only the corpus decides, if no script came as far."""
    undeclared = not_judged(fleet, row, CORPUS)
    if undeclared is not None:
        return undeclared
    if replay.broken:
        return decided(row, "inconclusive", f"{NOT_REACHED}: these broke before: {', '.join(replay.broken)}")
    return decided(row, "could-not-run", NOT_REACHED)
