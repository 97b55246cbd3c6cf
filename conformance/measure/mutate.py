"""The faults of the mutation measure: cosmic-ray says where the reference can be mutated and how.

A *site* is one place and one family of operators: eleven replacements of one `+` are one site, of which one mutant is
drawn, so that no place counts eleven times. A mutant that compiles to the same code without annotations is none. Left
out are `==` against `is` (whether equal values are one object is CPython's matter, not the bus's), the star and slash
of a signature, `strict` of zip, and code that no call of the protocol reaches.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

import sql
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.ast.ast_query import ASTQuery
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.provider import OperatorProvider

REFBUS = Path(__file__).parents[2] / "reference" / "refbus"

# Code that no call of the protocol reaches: the web page, the model of a search by meaning (an extra), code for the
# command line and Python programs alone.
LEFT_OUT = (
    "topics/web/",
    "topics/embedding.py",
    "topics/browse.py",
    "topics/export.py",
    "worker/tail.py",
    "worker/heartbeat.py",
    "worker/loop.py",
    "timeline/graph.py",
    "timeline/run.py",
    "timeline/worker.py",
)


@dataclass(frozen=True)
class Mutation:
    """One fault: a module of the reference with one change."""

    key: str  # stays as long as its lines and their function do
    module: str
    definition: str
    line: int
    operator: str
    before: str
    after: str
    source: str


@dataclass(frozen=True)
class _Site:
    path: Path
    at: tuple[int, int]
    family: str
    definition: str
    mutants: tuple[tuple[str, int], ...]  # operator, occurrence


def drawn(group: str, seed: int) -> Iterator[Mutation]:
    """One mutant of each site of a group (kernel, or a face), the sites in an order that the seed says."""
    seen: set[str] = set()
    for site in sorted(_sites(group), key=lambda site: _dice(site, seed).random()):
        candidates = list(site.mutants)
        _dice(site, seed).shuffle(candidates)
        for operator, occurrence in candidates:
            mutation = _mutation(site, operator, occurrence)
            if mutation is not None and mutation.key not in seen:
                seen.add(mutation.key)
                yield mutation
                break


def _dice(site: _Site, seed: int) -> random.Random:
    """A site's own, so that no other site that comes or goes changes its lot."""
    lines = _text(site.path).splitlines()
    before = sum(line == lines[site.at[0] - 1] for line in lines[: site.at[0]])
    return random.Random(
        f"{seed} {site.path.relative_to(REFBUS)} {lines[site.at[0] - 1]} {before} {site.at[1]} {site.family}"
    )


@cache
def _operators() -> dict[str, Any]:
    provider = OperatorProvider()
    own = {name: provider[name] for name in provider if not _is_left_out(name)}
    return {name: operator() for name, operator in {**own, **sql.OPERATORS}.items() if not operator.arguments()}


def _is_left_out(name: str) -> bool:
    return name.startswith("ReplaceComparisonOperator") and ("_Is" in name)


def _family(name: str) -> str:
    return name.partition("_")[0]


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _sites(group: str) -> list[_Site]:
    mutants: dict[tuple[Path, tuple[int, int], str], list[tuple[str, int]]] = {}
    defined: dict[tuple[Path, tuple[int, int], str], str] = {}
    for path in sorted((REFBUS / group).rglob("*.py")):
        if str(path.relative_to(REFBUS)).startswith(LEFT_OUT):
            continue
        nodes = list(ast_nodes(get_ast(_text(path))))
        for name, operator in _operators().items():
            places = ((node, start) for node in nodes for start, _ in operator.mutation_positions(node))
            for occurrence, (node, start) in enumerate(places):
                site = (path, start, _family(name))
                mutants.setdefault(site, []).append((name, occurrence))
                defined[site] = ASTQuery(node).get_definition_name() or ""
    return [_Site(*site, defined[site], tuple(mutants)) for site, mutants in sorted(mutants.items())]


def _mutation(site: _Site, operator: str, occurrence: int) -> Mutation | None:
    """None if it is the same program."""
    text = _text(site.path)
    try:
        mutated = mutate_code(text, _operators()[operator], occurrence)
    except AttributeError:  # the tool knows exceptions by plain names alone
        return None
    if mutated is None or not _differs(text, mutated):
        return None
    if _is_of_a_signature(text, site.at) or "strict=True" in text.splitlines()[site.at[0] - 1][site.at[1] - 7 :][:11]:
        return None
    lines = [line for line in difflib.ndiff(text.splitlines(), mutated.splitlines()) if line[:2] in ("- ", "+ ")]
    before, after = ("\n".join(line[2:].strip() for line in lines if line[0] == sign) for sign in "-+")
    module = ".".join(site.path.relative_to(REFBUS.parent).with_suffix("").parts)
    nth = text[: _offset(text, site.at)].count(before)
    identity = "\0".join((module, site.definition, operator, before, after, str(nth)))
    key = hashlib.sha256(identity.encode()).hexdigest()[:10]
    return Mutation(key, module, site.definition, site.at[0], operator, before, after, mutated)


def _is_of_a_signature(text: str, at: tuple[int, int]) -> bool:
    """Is it the bare star, or the slash, among parameters?"""
    line = text.splitlines()[at[0] - 1]
    return re.match(r"[*/][,)]", line[at[1] :]) is not None


def _offset(text: str, at: tuple[int, int]) -> int:
    return sum(map(len, text.splitlines(keepends=True)[: at[0] - 1]))


def _differs(text: str, mutated: str) -> bool:
    try:
        return _code(text) != _code(mutated)
    except SyntaxError:
        return False  # a mutant that does not compile is none


def _code(text: str) -> tuple[Any, ...]:
    """Its compiled code, without annotations and docstrings."""
    tree = _Bare().visit(ast.parse(text))
    return _comparable(compile(ast.fix_missing_locations(tree), "", "exec", optimize=2))


def _comparable(code: CodeType) -> tuple[Any, ...]:
    constants = tuple(_comparable(c) if isinstance(c, CodeType) else (type(c), repr(c)) for c in code.co_consts)
    return (code.co_code, constants, code.co_names, code.co_varnames)


class _Bare(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> Any:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        node.annotation = ast.Constant("")
        return self.generic_visit(node)
