"""A bus without a database goes through the same acts, and each of its faults is found by the act that should."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from buschaos import report
from buschaos.crashpoints import in_the_middle
from buschaos.run import Settings, run
from buschaos.subjects import SUBJECTS

ROWS = {"points": "worker.log.03", "power": "worker.log.65", "holds": "worker.log.66"}
POINTS: dict[str, Any] = {"points": True}
POWER: dict[str, Any] = {"power": 80}
HOLDS: dict[str, Any] = {"holds": True}


def outcome(fault: str, out: Path, how: dict[str, Any]) -> tuple[str, str]:
    """Outcome and why of the row that an act decides."""
    program = Path(__file__).parent / "strangers" / "jsonl_bus.py"
    operations = tuple(op for op in SUBJECTS["worker"].repertoire.operations if op.name in ("publish", "ack"))
    settings = Settings(
        specs=[f"exec:{shlex.join([sys.executable, str(program), fault])}"],
        out=out,
        system="worker",
        operations=operations,
        torn=in_the_middle,
        crossed=4,
        **how,
    )
    (act,) = how
    rows = {row.requirement: (row.outcome, row.why) for row in report.rows(run(settings), "worker")}
    return rows[ROWS[act]]


@pytest.mark.parametrize("how", [POINTS, POWER, HOLDS], ids=lambda how: next(iter(how)))
def test_a_correct_log_of_lines_passes(tmp_path: Path, how: dict[str, Any]) -> None:
    """Killed, cut off at the level of power loss, and held."""
    assert outcome("", tmp_path, how)[0] == "pass"


@pytest.mark.parametrize(
    ("fault", "how"),
    [("joined", POINTS), ("memory", POINTS), ("reset", POINTS), ("unsynced", POWER), ("counter", HOLDS)],
)
def test_its_faults_are_found(tmp_path: Path, fault: str, how: dict[str, Any]) -> None:
    """Each by the act that should."""
    assert outcome(fault, tmp_path, how)[0] == "fail"


@pytest.mark.parametrize("how", [POINTS, POWER], ids=lambda how: next(iter(how)))
def test_what_is_stored_through_a_mapping_is_never_green(tmp_path: Path, how: dict[str, Any]) -> None:
    """No call shows it: inconclusive, and the file is named."""
    result, why = outcome("mapped", tmp_path, how)
    assert result == "inconclusive"
    assert "log.jsonl" in why
