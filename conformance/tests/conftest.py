"""The shared parts of the kit's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from busproof.bus.fleet import warm_for
from busproof.bus.warm import Warm
from busproof.systems import SYSTEMS

# An example takes as long as the machine needs for it: its time does not tell whether it is wrong.
settings.register_profile("no clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no clock")


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    """The process from which all mutants of a session start."""
    with warm_for(SYSTEMS) as warm:
        yield warm
