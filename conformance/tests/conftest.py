"""What the kit's tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from busproof.fleet import warm_for
from busproof.systems import SYSTEMS
from busproof.warm import Warm


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    """The process from which all mutants of a session start."""
    with warm_for(SYSTEMS) as warm:
        yield warm
