"""SECURITY.md names a test for each promise, and the tests are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_test_that_the_page_names_is_there() -> None:
    """Under that name, in one of the parts."""
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "SECURITY.md").read_text(encoding="utf-8")))
    there: set[str] = set()
    for part in ("reference", "conformance", "chaos", "spark_checks"):
        for path in (ROOT / part / "tests").rglob("test_*.py"):
            there.update(re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE))
    assert len(named) > 10
    assert named <= there
