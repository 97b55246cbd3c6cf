"""No counter in an exponent, and no state that only grows: what a program that runs for a year dies of."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import refbus
from refbus.kernel.rules import retry

SOURCES = sorted(Path(refbus.__file__).parent.rglob("*.py"))
EXPONENTS = {("kernel/rules/retry.py", "ldexp")}  # `doubled`, which bounds its counter
ADDS = {"add", "append", "extend", "insert", "setdefault", "update"}
REMOVES = {"clear", "discard", "pop", "popitem", "popleft", "remove"}
# Containers of an object that gain members and never lose one, each with what bounds it.
BOUNDED = {
    "topics/lease.py joined": "a topic has one identity of this session, which lasts as long as it (seed 004, 2.3)"
}


def _name(source: Path) -> str:
    return source.relative_to(Path(refbus.__file__).parent).as_posix()


def _exponents(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow | ast.LShift):
            if not isinstance(node.right, ast.Constant):
                yield ast.unparse(node)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("ldexp", "pow"):
            yield ast.unparse(node.func).rpartition(".")[2]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.findall(r"<< (?!min\()\S+", node.value)


def test_no_counter_stands_in_an_exponent() -> None:
    """But in one rule, which takes any."""
    exponents = {(_name(source), what) for source in SOURCES for what in _exponents(ast.parse(source.read_text()))}
    assert exponents == EXPONENTS


@pytest.mark.parametrize("times", [0, 1, 63, 64, 1023, 1024, 10**6, 2**63])
def test_a_rule_of_retries_takes_any_count(times: int) -> None:
    """A year of failures, each a second after the one before, has 3 x 10^7."""
    assert 0 < retry.failure_pause_s(times) <= retry.FAILURE_PAUSE_S_MAX
    assert retry.send_delay_s(times, 1.0, 1.0) >= 1.0
    assert retry.lock_backoff_ms(times + 1, 0.5) is None or times < retry.LOCK_ATTEMPTS_MAX


def _growing(source: Path) -> Iterator[str]:
    """Containers that objects make at their start, and that a file adds to, and neither takes from nor replaces."""
    tree = ast.parse(source.read_text())
    first = {
        id(part): part
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == "__init__"
        for part in ast.walk(node)
    }
    made = {name for node in first.values() for name, value in _assigned(node) if _is_container(value)}
    gains: set[str] = set()
    loses = {name for node in ast.walk(tree) if id(node) not in first for name, _ in _assigned(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute):
            for names, methods in ((gains, ADDS), (loses, REMOVES)):
                if node.attr in methods:
                    names.add(node.value.attr)
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
            if not isinstance(node.ctx, ast.Load):
                (gains if isinstance(node.ctx, ast.Store) else loses).add(node.value.attr)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Attribute):
            (gains if isinstance(node.op, ast.BitOr | ast.Add) else loses).add(node.target.attr)
    for name in sorted(made & gains - loses):
        yield f"{_name(source)} {name}"


def _assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """The attributes that a statement assigns, each with its value where that is plain to see."""
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Attribute):
        yield node.target.attr, node.value
    for target in node.targets if isinstance(node, ast.Assign) else []:
        if isinstance(target, ast.Tuple):
            whole = getattr(node, "value", None)
            values = whole.elts if isinstance(whole, ast.Tuple) else [None] * len(target.elts)
            pairs = zip(target.elts, values, strict=False)
            yield from ((part.attr, value) for part, value in pairs if isinstance(part, ast.Attribute))
        elif isinstance(target, ast.Attribute):
            yield target.attr, getattr(node, "value", None)


def _is_container(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Call):
        return ast.unparse(value.func) in ("set", "dict", "list", "deque", "defaultdict", "OrderedDict")
    return isinstance(value, ast.Dict | ast.List | ast.Set)


def test_what_an_object_holds_does_not_grow_for_ever() -> None:
    """A file that adds to a container of an object removes from it, too, or says here what bounds it."""
    assert {line for source in SOURCES for line in _growing(source)} == set(BOUNDED)
