"""A bus that shares nothing with the reference is judged, as far as it can be looked into."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from buschaos import diskfull, report
from buschaos.crashpoints import in_the_middle
from buschaos.run import Settings, run


def outcomes(kind: str, out: Path) -> dict[str, tuple[str, str]]:
    """Row → outcome and why, of a small run of all three acts."""
    bus = Path(__file__).parent / "strangers" / "small_bus.py"
    settings = Settings(
        specs=[f"exec:{shlex.quote(sys.executable)} {shlex.quote(str(bus))} {kind}"],
        out=out,
        system="worker",
        seed=1,
        kills=12,
        points=True,
        disk_full=True,
        torn=in_the_middle,
        levels=diskfull.LEVELS_FEW[:4],
        reads=False,  # it says nothing of disks that cannot be read
    )
    return {row.requirement: (row.outcome, row.why) for row in report.rows(run(settings), "worker")}


def test_a_correct_bus_on_the_seeds_tables_passes_what_it_declares(tmp_path: Path) -> None:
    """A wall clock, no dump: the kit reads the file itself. What is not declared is not applicable."""
    assert {row: outcome for row, (outcome, _) in outcomes("sqlite", tmp_path).items()} == {
        "worker.log.03": "pass",
        "worker.log.54": "pass",
        "worker.log.55": "pass",
        "worker.blob.16": "not-applicable",
        "worker.export.12": "not-applicable",
    }


def test_what_cannot_be_looked_into_is_never_green(tmp_path: Path) -> None:
    """No dump and no table that the kit knows: could-not-run and inconclusive, with the reason."""
    found = outcomes("plain", tmp_path)
    assert {row: outcome for row, (outcome, _) in found.items()} == {
        "worker.log.03": "could-not-run",
        "worker.log.54": "inconclusive",
        "worker.log.55": "could-not-run",
        "worker.blob.16": "not-applicable",
        "worker.export.12": "not-applicable",
    }
    assert all("neither `dump` nor `sqlite`" in why for outcome, why in found.values() if outcome != "not-applicable")
