"""An item that is the search, or a part of it: programs that are drawn anew, judged by the model."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from busproof.bus.fleet import Fleet
from busproof.bus.warm import is_warm
from busproof.contract.catalogue import Requirement, catalogue
from busproof.play.explore import corpus, retold
from busproof.play.explore.lanes import events_of
from busproof.play.explore.search import Program, search
from busproof.play.explore.search import play as play_again
from busproof.play.explore.stage import Specification
from busproof.play.ties import tied
from busproof.run.result import RowResult, a_clock, decided
from busproof.systems import SYSTEMS

NIGHTLY_PROGRAMS = 1_500  # by day Specification.programs
EXPLORE_PARTS = ("states", "retold", "values")
RETOLD_PROGRAMS = {"pr": 10, "nightly": 1_500}
VALUE_PROGRAMS = {"pr": 40, "nightly": 5_000}


def run_search(fleet: Fleet, rows: list[Requirement], item: str, profile: str, seed: int | None) -> list[RowResult]:
    """Search for programs that break a MUST. Each fails those of these rows that are of a broken row's noun; a row that
    is alone takes all. A difference only where the seed leaves a choice is no fault."""
    specification = SYSTEMS[fleet.system].model
    if specification is None or (specification.needs_clock and fleet.hello.clock == "wall"):
        return [decided(row, "could-not-run", f"the search needs {a_clock(fleet.specs[0])}") for row in rows]
    known, whole, cut = catalogue(fleet.system), 0, 0
    failed: dict[str, RowResult] = {}
    for drawn, again in _programs(fleet, specification, item, profile, seed or 1):
        if drawn.mismatch is not None and not fleet.tied and tied(fleet):
            drawn = play_again(fleet, specification, drawn.steps)
        program = corpus.certain(fleet, specification, drawn)
        if program.mismatch is None:
            whole += not program.seen.undecided
            continue
        cut += 1
        broken = [known[name] for name in program.mismatch.rows if name in known]
        if not broken or any(row.level == "MUST" for row in broken):
            names, nouns = ", ".join(row.id for row in broken), {row.noun for row in broken}
            why = f"broken: {names or 'what the model does'}\n{program.mismatch.told()}\n{_again(fleet, again)}"
            for row in rows:
                if row.noun in nouns or len(rows) == 1:
                    failed.setdefault(
                        row.id, decided(row, "fail", why, events=list(events_of(program, program.mismatch)))
                    )
        if len(failed) == len(rows):
            break
    counts = f"{whole} whole programs; {cut} ended at a difference"
    return [failed.get(row.id) or decided(row, "pass" if whole else "inconclusive", counts) for row in rows]


def _programs(
    fleet: Fleet, specification: Specification, item: str, profile: str, seed: int
) -> Iterator[tuple[Program, str]]:
    """Programs that look at the model's state, that retell the corpus, or that have any values; each with the options
    that play it again."""
    parts = [item.partition(":")[2]] if ":" in item else EXPLORE_PARTS
    if "states" in parts:
        count = NIGHTLY_PROGRAMS if profile == "nightly" else specification.programs
        for program in search(fleet, specification, seed=seed, programs=count, each=lambda _: True):
            yield program, f"--seed {program.seed} --calls 1"
    if "retold" in parts:
        drawn = search(
            fleet,
            specification,
            seed=seed,
            programs=RETOLD_PROGRAMS[profile],
            each=lambda _: True,
            draw=retold.teller(specification.system),
        )
        for program in drawn:
            yield program, f"--retold --seed {program.seed} --calls 1"
    if "values" in parts:
        from busproof.play.explore import values  # and with it Hypothesis, a quarter of all other imports

        for program in values.programs(fleet, specification, seed=seed, examples=VALUE_PROGRAMS[profile]):
            yield program, f"--values {VALUE_PROGRAMS[profile]} --seed {seed}"


def _again(fleet: Fleet, options: str) -> str:
    bus = "" if is_warm(fleet.specs[0]) else f" --bus {shlex.quote(fleet.specs[0])}"
    return f"play it again, and find the shortest: busproof explore {fleet.system}{bus} {options}"
