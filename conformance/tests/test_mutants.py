"""A check that never failed is not a check: each mutant dies by the rows it names, every row kills one.

And each is alive: it passes rows that its fault does not touch, and no row fails on it because it broke down.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from busproof.bus.fleet import Fleet
from busproof.bus.warm import Warm
from busproof.contract.catalogue import catalogue
from busproof.mutant import Mutant, mutants
from busproof.run.runner import RowResult, run_item
from busproof.systems import SYSTEMS

ALL = [pytest.param(mutant, id=f"{system}-{mutant.name}") for system in SYSTEMS for mutant in mutants(system).values()]
# Of an item, roughly, in scenarios.
COSTS = {"corpus": 50, "corpus:volume": 50, "explore": 30, "explore:states": 30, "history": 20}
REFBUS = Path(__file__).parents[2] / "reference" / "refbus"

# How a report says that a bus broke down, rather than misbehaved.
BREAKDOWN = re.compile(
    r"\bINTERNAL\b|did not answer|no answer to \S+ in |ended before it answered|could not be opened"
    r"|the script broke at|the script needs an answer"
)


def cheap_to_dear() -> Iterator[Any]:
    """Every mutant, by day with the rows that no cheaper one has killed; all rows of the others, nightly."""
    for system in SYSTEMS:
        decided: set[str] = set()
        for mutant in sorted(mutants(system).values(), key=cost):
            rows = {row for row in mutant.killed_by if catalogue(system)[row].item}
            if rows - decided or not rows:
                yield pytest.param(mutant, rows - decided, id=f"{system}-{mutant.name}")
            if rows & decided:
                yield pytest.param(mutant, rows, id=f"{system}-{mutant.name}-all", marks=pytest.mark.nightly)
            decided |= rows


def cost(mutant: Mutant) -> int:
    """The cost of judging it: the sum of its items."""
    rows = catalogue(mutant.system)
    items = {mutant.item or rows[row].item for row in mutant.killed_by}
    return sum(COSTS.get(item.partition(".")[0], 1) for item in items)


@pytest.mark.parametrize("system", SYSTEMS)
def test_there_are_at_least_forty_mutants_each_with_a_sentence(system: str) -> None:
    """The sentence says the fault."""
    assert len(mutants(system)) >= 40
    assert all(mutant.sentence.endswith(".") for mutant in mutants(system).values())


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_row_that_a_check_decides_kills_a_mutant(system: str) -> None:
    """100 % of them, MUST or not; those of chaos are killed in chaos/tests."""
    rows = catalogue(system)
    killing = {requirement for mutant in mutants(system).values() for requirement in mutant.killed_by}
    assert {row.id for row in rows.values() if row.kind != "excluded"} - killing == set()
    assert killing <= set(rows)


@pytest.mark.parametrize(("mutant", "asked"), list(cheap_to_dear()))
def test_the_mutant_is_alive_and_dies_by_the_rows_it_names(mutant: Mutant, asked: set[str], warm: Warm) -> None:
    """On a real process: MUST rows fail, RESOLVED rows warn, and others pass, be it in its control alone."""
    rows = catalogue(mutant.system)
    items = dict.fromkeys(mutant.item or rows[one].item for one in mutant.killed_by if one in asked)
    with closing(Fleet([mutant.spec(warm)], system=mutant.system)) as fleet:
        found = {result.requirement: result for item in items for result in run_item(fleet, item, seed=1)}
        if "pass" not in {result.outcome for result in found.values()}:
            passes_its_control(mutant, fleet)
    for requirement in asked:
        wanted = "fail" if rows[requirement].level == "MUST" else "warn"
        assert found[requirement].outcome == wanted, f"{requirement}: {found[requirement].why}"
        assert breakdown(found[requirement], mutant) == "", requirement


@pytest.mark.nightly
@pytest.mark.parametrize("mutant", ALL)
def test_the_mutant_passes_its_control(mutant: Mutant, warm: Warm) -> None:
    """Also where it passes other rows that are decided with those it fails."""
    with closing(Fleet([mutant.spec(warm)], system=mutant.system)) as fleet:
        passes_its_control(mutant, fleet)


def passes_its_control(mutant: Mutant, fleet: Fleet) -> None:
    """An item that its fault does not touch."""
    control = run_item(fleet, mutant.control, seed=1)
    assert {result.outcome for result in control} == {"pass"}, [(r.requirement, r.why) for r in control if r.why]
    assert not set(mutant.killed_by) & {result.requirement for result in control}


def breakdown(result: RowResult, mutant: Mutant) -> str:
    """Words of a bus that only broke down, where that is not the fault it is there for."""
    codes = " ".join(str(event["code"]) for event in result.events if event.get("code") in ("INTERNAL", "LOST"))
    told = f"{result.why} {codes}"
    if mutant.dies_of and mutant.dies_of in result.why:
        return ""
    return told if BREAKDOWN.search(result.why) or codes else ""


@pytest.mark.parametrize("mutant", ALL)
def test_a_patch_of_text_finds_what_it_replaces(mutant: Mutant) -> None:
    """Or the reference has changed under it, and the mutant has no fault, or half of it."""
    for text in replaced(ast.parse(mutant.path.read_text())):
        assert words(text) in SOURCES, text


def replaced(tree: ast.Module) -> Iterator[str]:
    """The texts that calls of str.replace look for, outside of functions and classes, where they change no data."""
    constants: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            names, values = elements(node.targets[0]), elements(node.value)
            constants |= {
                name.id: str(value.value)
                for name, value in zip(names, values, strict=False)
                if isinstance(name, ast.Name) and isinstance(value, ast.Constant)
            }
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "replace":
                sought = node.args[0]
                if isinstance(sought, ast.Name):
                    yield constants[sought.id]
                elif isinstance(sought, ast.Constant):
                    yield str(sought.value)
                else:
                    raise AssertionError(f"a patch looks for {ast.unparse(sought)}: name it, so that it can be found")


def elements(node: ast.expr) -> list[ast.expr]:
    """The elements of a tuple; anything else is one element."""
    return node.elts if isinstance(node, ast.Tuple) else [node]


def words(text: str) -> str:
    """The text without the parts that a formatter may change."""
    return re.sub(r"\s+", " ", text)


SOURCES = words("".join(path.read_text() for suffix in ("py", "sql") for path in sorted(REFBUS.rglob(f"*.{suffix}"))))
