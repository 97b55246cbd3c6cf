"""A seed that is silent blames nobody: a bus that chose otherwise there is VALID, whatever it chose."""

from __future__ import annotations

import os
import random

import pytest

from busproof.bus.warm import Warm
from busproof.faults.choices import BLAMED, are_free, failures
from busproof.faults.record import Fault, choices, faults
from busproof.systems import SYSTEMS

FREE = {
    f"{system} {name}": fault
    for system in SYSTEMS
    for name, fault in {**faults(system), **choices(system)}.items()
    if are_free(fault)
}
FOLLOWED = {name: fault for name, fault in FREE.items() if name not in BLAMED}
SHARE = 1  # of them, in a pull request: other ones with another BUSPROOF_SEED
DRAWN = random.Random(int(os.environ.get("BUSPROOF_SEED", "1"))).sample(sorted(FOLLOWED), SHARE)


def test_a_choice_that_is_blamed_is_there_and_says_why() -> None:
    assert set(BLAMED) <= set(FREE)
    assert all(BLAMED.values())


@pytest.mark.parametrize("name", DRAWN)
def test_a_share_of_them_fails_no_must_row_in_what_is_short(name: str, warm: Warm) -> None:
    """Scenarios and history, on the bus alone and in a mixed fleet; the corpus and slow items run at night."""
    assert failures([FOLLOWED[name]], warm, is_short=True) == {}


@pytest.mark.nightly
@pytest.mark.parametrize("fault", FOLLOWED.values(), ids=lambda fault: fault.id)
def test_a_bus_that_chose_otherwise_fails_no_must_row(fault: Fault, warm: Warm) -> None:
    """In the whole of `check`."""
    assert failures([fault], warm) == {}
