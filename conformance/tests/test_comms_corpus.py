"""The required content of the comms corpus, and programs beside it; `test_corpus` plays it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from busproof.bus.fleet import Fleet, reference
from busproof.play.explore import corpus
from busproof.play.explore.search import invent
from busproof.systems import SYSTEMS

SPECIFICATION = SYSTEMS["comms"].model
assert SPECIFICATION is not None


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    """The reference, warm."""
    made = Fleet([reference("comms")], system="comms")
    yield made
    made.close()


def test_the_corpus_holds_every_edge_and_every_pair() -> None:
    """As tags of its steps, and as neighbours in its scripts; branches are measured by `explore comms --coverage`."""
    assert SPECIFICATION is not None
    scripts = corpus.scripts("comms")
    tags = {tag for steps in scripts.values() for step in steps for tag in step.tags}
    assert set(SPECIFICATION.edges) - tags == set()
    methods = [step.method for step in scripts["each_after_each"] if step.method]
    pairs = set(itertools.pairwise(methods))
    assert corpus.pairs_possible(SPECIFICATION) - pairs == set()


def test_programs_that_are_drawn_hold_on_the_reference(fleet: Fleet) -> None:
    assert SPECIFICATION is not None
    for seed in range(900, 906):
        program = invent(fleet, SPECIFICATION, seed, 40)
        assert program.mismatch is None, program.mismatch.told()
        assert program.seen.calls > 30
