"""The face's shape: a store and its nouns side by side, so that nobody climbs to find a line."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import refbus.comms

FOLDER = Path(next(iter(refbus.comms.__path__)))
FILES = {path.stem: ast.parse(path.read_text()) for path in FOLDER.glob("*.py")}


def imported(file: str) -> set[str]:
    """The other files of the face that this one imports."""
    files: set[str] = set()
    for node in ast.walk(FILES[file]):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            if node.module == "refbus.comms":
                files |= {name.name for name in node.names}
            elif node.module.startswith("refbus.comms."):
                files.add(node.module.split(".")[2])
    return files


@functools.cache
def floor(file: str) -> int:
    """1 for a file that imports no other, else one above the highest that it imports."""
    return 1 + max((floor(other) for other in imported(file)), default=0)


def test_the_house_has_five_floors() -> None:
    """With the bus at the top; only an agent's heartbeat and the package stand on it."""
    assert floor("bus") == max(floor(file) for file in FILES.keys() - {"heartbeat", "__init__"}) <= 5


def test_a_class_has_one_base_at_most() -> None:
    """And a noun has none: it is given all that it needs."""
    classes = {node.name: node for tree in FILES.values() for node in tree.body if isinstance(node, ast.ClassDef)}
    assert all(len(node.bases) <= 1 for node in classes.values())
    nouns = ("Log", "Route", "Leases", "Retries", "Requests", "Presence", "Audit", "Votes", "Artifacts", "RateLimit")
    assert not any(classes[noun].bases for noun in nouns)


def test_a_method_called_on_self_is_in_the_same_class() -> None:
    """Or is named there, as a noun's attribute; the store's own come from the kernel's."""
    for file, tree in FILES.items():
        for node in (node for node in tree.body if isinstance(node, ast.ClassDef) and not node.bases):
            own = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
            called = {
                call.func.attr
                for call in ast.walk(node)
                if isinstance(call, ast.Call)
                and isinstance(call.func, ast.Attribute)
                and isinstance(call.func.value, ast.Name)
                and call.func.value.id == "self"
            }
            assert called <= own, f"{file}.{node.name}"
