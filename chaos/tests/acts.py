"""How the tests of one system play the acts of chaos, and read their results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from buschaos import report
from buschaos.crashpoints import in_the_middle
from buschaos.run import Run, Settings, run
from buschaos.subjects import SUBJECTS


def play(system: str, bus: str, out: Path, *names: str, **how: Any) -> Run:
    """The acts that are asked for, of these operations or of all."""
    chosen = tuple(op for op in SUBJECTS[system].repertoire.operations if op.name in names) if names else None
    words: dict[str, Any] = {"seed": 1, "torn": in_the_middle, "operations": chosen, **how}
    return run(Settings(specs=[bus], out=out, system=system, **words))


def problems_of(played: Run) -> list[str]:
    """Every problem, with its point."""
    return [f"{problem.point}: {problem.why}" for act in played.acts for problem, _ in act.problems]


def outcomes(system: str, played: Run) -> dict[str, str]:
    """Row → outcome."""
    return {row.requirement: row.outcome for row in report.rows(played, system)}
