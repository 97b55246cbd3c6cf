"""The fixtures that the chaos tests share."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from busproof.faults.record import faults

# An example takes as long as the machine needs for it: its time does not tell whether it is wrong.
settings.register_profile("no clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no clock")


@pytest.fixture
def faulty() -> Callable[[str], str]:
    """The --bus of a mutant, `SYSTEM/NAME`. Started cold: the supervisor watches the program that it starts."""

    def spec(name: str) -> str:
        system, _, mutant = name.partition("/")
        return faults(system)[mutant].spec()

    return spec


@pytest.fixture
def harmless() -> Callable[[str], str]:
    """The --bus of the reference under another name, or with a habit that is no fault."""

    def spec(name: str) -> str:
        scheme = "mcp" if name.startswith("topics_") else "exec"
        program = Path(__file__).parent / "harmless" / f"{name}.py"
        return f"{scheme}:{shlex.join([sys.executable, str(program)])}"

    return spec
