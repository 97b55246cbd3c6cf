"""SECURITY.md names a test for each promise, docs/attack.md one for each finding, and the tests are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", ["SECURITY.md", "docs/attack.md"])
def test_every_test_that_a_page_names_is_there(page: str) -> None:
    """Under that name, in one of the parts."""
    named = set(re.findall(r"`(test_\w+)`", (ROOT / page).read_text(encoding="utf-8")))
    there: set[str] = set()
    for part in ("reference", "conformance", "chaos", "spark_checks"):
        for path in (ROOT / part / "tests").rglob("test_*.py"):
            there.update(re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE))
    assert len(named) > 10
    assert named <= there
