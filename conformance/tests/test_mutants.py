"""A check that never failed is not a check: each mutant dies by the rows it names, every MUST row kills one."""

import ast
import shlex
import sys
from pathlib import Path

import pytest

from busproof.catalogue import catalogue
from busproof.fleet import Fleet
from busproof.runner import run_item

MUTANTS = sorted((Path(__file__).parents[1] / "mutants").glob("*.py"))
ROWS = catalogue("worker")


def killed_by(mutant: Path) -> tuple[str, ...]:
    """KILLED_BY, read without running the file."""
    for node in ast.parse(mutant.read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "KILLED_BY":
            return tuple(ast.literal_eval(node.value))
    raise AssertionError(f"{mutant.name} has no KILLED_BY")


def test_there_are_at_least_forty_mutants_each_with_a_sentence() -> None:
    """The sentence says the fault."""
    assert len(MUTANTS) >= 40
    assert all((ast.get_docstring(ast.parse(mutant.read_text())) or "").endswith(".") for mutant in MUTANTS)


def test_every_must_row_that_check_decides_kills_a_mutant() -> None:
    """100 % of them. Rows of chaos.* are killed by planted faults in chaos/tests."""
    killing = {requirement for mutant in MUTANTS for requirement in killed_by(mutant)}
    must = {
        row.id
        for row in ROWS.values()
        if row.level == "MUST" and row.check and not row.check.startswith("chaos.")
    }
    assert must - killing == set()
    assert killing <= set(ROWS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda path: path.stem)
def test_the_mutant_dies_by_the_rows_it_names(mutant: Path) -> None:
    """On a real process: MUST rows fail, RESOLVED rows warn."""
    fleet = Fleet([f"exec:{shlex.quote(sys.executable)} {shlex.quote(str(mutant))}"])
    try:
        items = dict.fromkeys(_item(requirement) for requirement in killed_by(mutant))
        outcomes = {
            (result.requirement, item): result.outcome
            for item in items
            for result in run_item(fleet, item, seed=1)
        }
    finally:
        fleet.close()
    for requirement in killed_by(mutant):
        wanted = "fail" if ROWS[requirement].level == "MUST" else "warn"
        assert outcomes[requirement, _item(requirement)] == wanted, requirement


def _item(requirement: str) -> str:
    check = ROWS[requirement].check or ""
    return "history" if check.startswith("history.") else check
