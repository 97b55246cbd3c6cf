"""The tests of `pytest --pyargs busproof.run.pytest_suite`: pytest collects one for each item."""

from __future__ import annotations

from typing import Any

import pytest

from busproof.words import printable


def test_check(busproof_item: tuple[str, str], busproof_run: Any) -> None:
    """Play one item on one fleet; the rows go to the report, and a failed row fails the test."""
    label, item = busproof_item
    broken = [result for result in busproof_run.play(label, item) if result.outcome == "fail"]
    if broken:
        reasons = "\n".join(f"{result.requirement}: {result.why}" for result in broken)
        pytest.fail(printable(reasons), pytrace=False)
