"""A seed that is silent blames nobody: a bus that chose otherwise there is VALID, whatever it chose.

Those are the mutants that only RESOLVED rows kill, and the variants in conformance/choices, written before their
author looked at which choices the kit follows. docs/choices holds what the whole of `check` said of each.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import pytest

from busproof.bus.warm import Warm
from busproof.systems import SYSTEMS

sys.path.insert(0, str(Path(__file__).parents[1] / "measure"))

import choices

ALL = {f"{system} {one.name}": one for system in SYSTEMS for one in choices.choices(system)}
TOLD = {f"{system} {name}": line for system in SYSTEMS for name, line in choices.told(system).items()}
FOLLOWED = sorted(name for name, line in TOLD.items() if not line["fails"])
SHARE = 1  # of them, in a pull request: other ones with another BUSPROOF_SEED
DRAWN = random.Random(int(os.environ.get("BUSPROOF_SEED", "1"))).sample(FOLLOWED, SHARE)


def test_of_the_choices_that_were_judged_only_those_named_are_blamed() -> None:
    """As it stands in docs/choices; a bus without a line there is judged by conformance/measure/choices.py."""
    assert set(TOLD) <= set(ALL)
    assert {name for name, line in TOLD.items() if line["fails"]} == set(choices.BLAMED)


def test_most_choices_were_judged() -> None:
    missing = [name for name in ALL if name not in TOLD]
    assert len(missing) < 20, missing


@pytest.mark.parametrize("name", DRAWN)
def test_a_share_of_them_fails_no_must_row_in_what_is_short(name: str, warm: Warm) -> None:
    """Scenarios and history, on the bus alone and in a mixed fleet; the corpus and slow items run at night."""
    assert choices.judged(ALL[name], warm, choices.SHORT)["fails"] == {}


@pytest.mark.nightly
@pytest.mark.parametrize("name", FOLLOWED)
def test_a_bus_that_chose_otherwise_fails_no_must_row(name: str, warm: Warm) -> None:
    """As much of `check` as its line says: in the end the whole."""
    assert (
        choices.judged(ALL[name], warm, choices.SHORT if TOLD[name]["played"] == choices.SHORT else choices.WHOLE)[
            "fails"
        ]
        == {}
    )
