"""A check that never failed is not a check: each mutant dies by the rows it names, every row kills one."""

import ast
import shlex
import sys
from pathlib import Path

import pytest

from busproof.catalogue import catalogue
from busproof.fleet import Fleet
from busproof.runner import run_item

SYSTEMS = ("worker", "comms", "topics")
SCHEMES = {"topics": "mcp"}
MUTANTS = {system: sorted((Path(__file__).parents[1] / "mutants" / system).glob("*/*.py")) for system in SYSTEMS}


def killed_by(mutant: Path) -> tuple[str, ...]:
    """KILLED_BY, read without running the file."""
    for node in ast.parse(mutant.read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "KILLED_BY":
            return tuple(ast.literal_eval(node.value))
    raise AssertionError(f"{mutant.name} has no KILLED_BY")


@pytest.mark.parametrize("system", SYSTEMS)
def test_there_are_at_least_forty_mutants_each_with_a_sentence(system: str) -> None:
    """The sentence says the fault."""
    assert len(MUTANTS[system]) >= 40
    sentences = [ast.get_docstring(ast.parse(mutant.read_text())) or "" for mutant in MUTANTS[system]]
    assert all(sentence.endswith(".") for sentence in sentences)


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_row_that_check_decides_kills_a_mutant(system: str) -> None:
    """100 % of them, MUST or not. What fails rows of chaos.* are the planted faults in chaos/tests."""
    rows = catalogue(system)
    killing = {requirement for mutant in MUTANTS[system] for requirement in killed_by(mutant)}
    checked = {row.id for row in rows.values() if row.item}
    assert checked - killing == set()
    assert killing <= set(rows)


@pytest.mark.parametrize(
    ("system", "mutant"), [pytest.param(s, m, id=f"{s}-{m.stem}") for s in SYSTEMS for m in MUTANTS[s]]
)
def test_the_mutant_dies_by_the_rows_it_names(system: str, mutant: Path) -> None:
    """On a real process: MUST rows fail, RESOLVED rows warn."""
    rows = catalogue(system)
    fleet = Fleet(
        [f"{SCHEMES.get(system, 'exec')}:{shlex.quote(sys.executable)} {shlex.quote(str(mutant))}"], system=system
    )
    try:
        items = dict.fromkeys(rows[requirement].item for requirement in killed_by(mutant))
        outcomes = {
            (result.requirement, item): result.outcome for item in items for result in run_item(fleet, item, seed=1)
        }
    finally:
        fleet.close()
    for requirement in killed_by(mutant):
        wanted = "fail" if rows[requirement].level == "MUST" else "warn"
        assert outcomes[requirement, rows[requirement].item] == wanted, requirement
