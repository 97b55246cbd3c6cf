"""Which scripts of the corpus reach a place of the reference? What is not called cannot be seen to be wrong."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from mutate import REFBUS, Mutation

Called = list[Any]  # module, first line, last line, names in use


class Reach:
    """Of one system: by script, the functions that were called."""

    def __init__(self, play: Callable[[str], None], scripts: Iterable[str], folder: Path) -> None:
        self._called: dict[str, list[Called]] = {}
        for name in scripts:
            path = folder / f"{name}.reached"
            os.environ["REACHED"] = str(path)
            try:
                play(name)
            finally:
                del os.environ["REACHED"]
            self._called[name] = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def scripts(self, mutation: Mutation) -> list[str]:
        """Those that call the function that was mutated, or use the constant. All, where it is neither."""
        tree = ast.parse((REFBUS.parent / Path(*mutation.module.split("."))).with_suffix(".py").read_text())
        is_of = _test(tree, mutation)
        found = [name for name, called in self._called.items() if is_of is None or any(map(is_of, called))]
        return found or list(self._called)[:1]  # the module may not even be imported any more


def _test(tree: ast.Module, mutation: Mutation) -> Callable[[Called], bool] | None:
    line = mutation.line
    around = [
        node for node in ast.walk(tree) if isinstance(node, ast.stmt) and _lines(node)[0] <= line <= _lines(node)[1]
    ]
    functions = [node for node in around if isinstance(node, ast.FunctionDef)]
    if functions:
        first, last = _lines(functions[0])
        return lambda called: called[0] == mutation.module and first <= called[1] <= last
    outermost = next((node for node in around if node in tree.body), None)
    if isinstance(outermost, ast.Assign):
        names = {node.id for target in outermost.targets for node in ast.walk(target) if isinstance(node, ast.Name)}
        if not _is_used_at_import(tree, names, outermost):
            return lambda called: bool(names & set(called[3]))
    return None


def _lines(node: ast.stmt) -> tuple[int, int]:
    first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
    return first, node.end_lineno or node.lineno


def _is_used_at_import(tree: ast.Module, names: set[str], own: ast.stmt) -> bool:
    """A constant that makes another one, or is a default, is used where its name is not seen."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            parts: list[ast.AST] = [node.args]
        elif isinstance(node, ast.ClassDef):
            parts = [one.args if isinstance(one, ast.FunctionDef) else one for one in node.body]
        else:
            parts = [] if node is own else [node]
        used = {one.id for part in parts for one in ast.walk(part) if isinstance(one, ast.Name)}
        if names & used:
            return True
    return False
