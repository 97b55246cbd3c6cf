"""Which scripts and scenarios reach a place of the reference? A fault in code that is not called cannot be seen."""

from __future__ import annotations

import ast
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from mutate import REFBUS, Mutation

Called = list[Any]  # module, first line, last line, names in use


class Reach:
    """The functions that were called, of one system, by script or scenario."""

    def __init__(self, play: Callable[[str], None], names: Iterable[str], folder: Path) -> None:
        """The content of the folder was found before."""
        folder.mkdir(exist_ok=True)
        self._called: dict[str, list[Called]] = {}
        for name in names:
            path = folder / f"{name}.reached"
            if not path.exists():
                _play(play, name, path)
            self._called[name] = [json.loads(line) for line in path.read_text().splitlines()]

    def those(self, mutation: Mutation) -> list[str]:
        """Those that call the function that was mutated, or use the constant. All, if it is neither."""
        tree = ast.parse((REFBUS.parent / Path(*mutation.module.split("."))).with_suffix(".py").read_text())
        is_of = _test(tree, mutation)
        items = [name for name, called in self._called.items() if is_of is None or any(map(is_of, called))]
        items = items or [name for name, called in self._called.items() if _starts(called, mutation.module)]
        return items or list(self._called)[:1]  # the module may not even be imported any more


def _starts(called: list[Called], module: str) -> bool:
    """Was its file looked up by a start as a program of its own? Nobody tells what that calls."""
    name = module.rpartition(".")[2]
    return any({name, "__file__"} <= set(names) for *_, names in called)


def _play(play: Callable[[str], None], name: str, path: Path) -> None:
    """Several may do so at once: the file is there when it is whole."""
    with tempfile.NamedTemporaryFile() as file:
        os.environ["REACHED"] = file.name
        try:
            play(name)
        finally:
            del os.environ["REACHED"]
        shutil.copy(file.name, whole := path.with_suffix(f".{os.getpid()}"))
        whole.rename(path)


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
    first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])
    return first, node.end_lineno or node.lineno


def _is_used_at_import(tree: ast.Module, names: set[str], own: ast.stmt) -> bool:
    """A constant that makes another one, or is a default, is used where its name is not seen."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            parts: list[ast.AST] = [node.args]
        elif isinstance(node, ast.ClassDef):
            parts = [member.args if isinstance(member, ast.FunctionDef) else member for member in node.body]
        else:
            parts = [] if node is own else [node]
        used = {inner.id for part in parts for inner in ast.walk(part) if isinstance(inner, ast.Name)}
        if names & used:
            return True
    return False
