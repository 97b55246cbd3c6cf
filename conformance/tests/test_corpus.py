"""The corpus of each system holds on the reference, and reaches all of its model."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from busproof.explore import corpus
from busproof.explore.script import Step
from busproof.explore.search import Program, play
from busproof.fleet import Fleet, reference
from busproof.systems import SYSTEMS
from busproof.warm import Warm

UNDECIDED_MAX = 1  # races that may have gone in too many orders to be judged
PAIRS_MISSING_MAX = 1  # of all pairs of a system's methods, one after the other on a store; in percent


@pytest.mark.parametrize("system", [name for name, one in SYSTEMS.items() if one.model is not None])
def test_the_corpus_holds_and_reaches_every_branch_and_edge(system: str, warm: Warm) -> None:
    """Each answer is the model's, nothing of note is left out, and no branch of the model is without a script."""
    specification = SYSTEMS[system].model
    assert specification is not None
    fleet = Fleet([warm.spec(reference(system))], system=system)
    dialects: dict[str, str] = {}
    played: list[Program] = []

    def playing(steps: list[Step]) -> Callable[[], Program]:
        def one() -> Program:
            played.append(play(fleet, specification, steps, dialects))
            return played[-1]

        return one

    try:
        found = corpus.reached(
            specification, [(name, playing(steps)) for name, steps in corpus.scripts(system).items()]
        )
    finally:
        fleet.close()
    assert [program.mismatch.told() for program in played if program.mismatch] == []
    assert dialects == {}
    assert sum(program.seen.skipped for program in played) < sum(program.seen.calls for program in played) / 20
    assert found.undecided <= UNDECIDED_MAX
    assert found.missing == []
    assert set(specification.edges) - found.edges == set()
    possible = corpus.pairs_possible(specification)
    missing = possible - corpus.pairs_reached(found.pairs)
    assert len(missing) <= len(possible) * PAIRS_MISSING_MAX / 100, missing
