"""What the chaos tests share."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def faulty() -> Callable[[str], str]:
    """The --bus of a reference bus with one planted fault."""

    def spec(name: str) -> str:
        scheme = "mcp" if name.startswith("topics_") else "exec"
        return f"{scheme}:{shlex.quote(sys.executable)} {shlex.quote(str(Path(__file__).parent / 'faults' / name))}.py"

    return spec
