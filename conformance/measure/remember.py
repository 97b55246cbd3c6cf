"""`python conformance/measure/remember.py worker`: would `check` notice a process that remembers what it once read?

Faults that nobody chose, one for each function of the reference that reads the database or the disk and returns
something: asked again with the same arguments, it answers from memory, until its own process writes. A bus that
caches so is right as long as it is alone. Each is judged as a stranger's bus would be, the short scripts first, until
a MUST fails. A function of a transaction that writes cannot be told from the right one: the write makes it forget. A
line for each goes to busproof-out/mutation/remember-SYSTEM.jsonl; one that is there is not judged again.
"""

from __future__ import annotations

import argparse
import ast
import functools
import importlib
import json
import runpy
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
ROOT = HERE.parents[2]
RESULTS = ROOT / "busproof-out" / "mutation"
READS = frozenset(
    {
        *("row", "rows", "dicts", "execute", "fetchone", "fetchall", "version", "integrity"),
        *("stat", "lstat", "exists", "is_file", "is_dir", "scandir", "iterdir", "listdir", "read_bytes", "read_text"),
    }
)
PEOPLE = ("cli", "web", "pages")  # folders of commands and pages, which `check` does not call
SEED = 1


def sites(group: str) -> Iterator[str]:
    """MODULE:FUNCTION of every function of a folder of the reference that reads, and returns what it made of that."""
    for path in sorted((ROOT / "reference" / "refbus" / group).rglob("*.py")):
        if path.parent.name in PEOPLE:
            continue
        module = ".".join(path.relative_to(ROOT / "reference").with_suffix("").parts)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        owners = [(f"{node.name}.", node.body) for node in tree.body if isinstance(node, ast.ClassDef)]
        for prefix, body in [("", tree.body), *owners]:
            functions = (node for node in body if isinstance(node, ast.FunctionDef) and _looks_something_up(node))
            yield from (f"{module}:{prefix}{candidate.name}" for candidate in functions)


def _looks_something_up(function: ast.FunctionDef) -> bool:
    nodes = list(ast.walk(function))
    called = {node.func.attr for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)}
    returns = any(isinstance(node, ast.Return) and node.value is not None for node in nodes)
    is_plain = not function.decorator_list and not function.name.startswith("__")
    return bool(called & READS) and returns and is_plain and not any(isinstance(node, ast.Yield) for node in nodes)


# -- the faulty bus


def be_a_bus(program: str, site: str) -> None:
    """Serve the reference, with one function that remembers."""
    module, _, name = site.partition(":")
    owner: Any = importlib.import_module(module)
    *inside, name = name.split(".")
    for part in inside:
        owner = getattr(owner, part)
    original, memory = getattr(owner, name), dict[str, Any]()
    remembers = _remembering(original, memory)
    setattr(owner, name, remembers)
    for other in [loaded for key, loaded in sys.modules.items() if key.startswith("refbus.")]:
        for key in [key for key, value in vars(other).items() if value is original]:
            setattr(other, key, remembers)
    _forget_at_own_writes(memory)
    sys.argv = [program]
    runpy.run_module(program, run_name="__main__", alter_sys=True)


def _remembering(function: Callable[..., Any], memory: dict[str, Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def remembers(*args: Any, **named: Any) -> Any:
        key = repr((list(filter(_is_value, args)), {key: v for key, v in named.items() if _is_value(v)}))
        if key not in memory:
            memory[key] = function(*args, **named)
        return memory[key]

    return remembers


def _is_value(value: object) -> bool:
    """Is it a value, and not a part of the bus, such as its store or a transaction?"""
    return isinstance(value, str | bytes | int | float | bool | None | Path | tuple | list | dict | set | frozenset)


def _forget_at_own_writes(memory: dict[str, Any]) -> None:
    from refbus.kernel import db

    def forgets(function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **named: Any) -> Any:
            memory.clear()
            try:
                return function(*args, **named)
            finally:
                memory.clear()

        return wrapped

    begin, leave = db.Database._begin, db.Block.__exit__

    def begins(self: Any, how: str) -> Any:
        if "IMMEDIATE" in how:
            memory.clear()
        return begin(self, how)

    def leaves(self: Any, *error: Any) -> None:
        leave(self, *error)
        if "IMMEDIATE" in self._begin:
            memory.clear()

    database: Any = db.Database
    database._begin = begins
    database.write = forgets(database.write)
    database.__init__ = forgets(database.__init__)
    db.Block.__exit__ = leaves  # type: ignore[method-assign]


# -- the judge


def main() -> int:
    """Judge what was not judged yet."""
    parser = argparse.ArgumentParser(description="Judge buses that remember what they once read.")
    parser.add_argument("system")
    parser.add_argument("group", nargs="?", help="kernel: the parts that all systems share")
    parser.add_argument("--again", action="store_true", help="judge those that survived once more")
    args = parser.parse_args()
    name = args.system if args.group is None else f"{args.system}-{args.group}"
    path = RESULTS / f"remember-{name}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    known = {line["site"]: line for line in map(json.loads, lines)}
    for site in sites(args.group or args.system):
        if site not in known or (args.again and known[site]["by"] is None):
            known[site] = {"site": site} | _judged(args.system, site)
            print(json.dumps(known[site]), flush=True)
            path.write_text("".join(json.dumps(known[done]) + "\n" for done in sorted(known)), encoding="utf-8")
    return 0


def _judged(system: str, site: str) -> dict[str, Any]:
    """The first item that fails a MUST, and its rows; else rows that warned."""
    from busproof.bus.fleet import Fleet, reference, warm_for
    from busproof.faults.blind import items_of
    from busproof.run.runner import run_item

    scheme, _, program = reference(system).partition(":")
    argv = [sys.executable, str(HERE), "--bus", program.rpartition(" ")[2], site]
    warned = set[str]()
    with (
        warm_for([system]) as warm,
        closing(Fleet([warm.spec(f"{scheme}:{shlex.join(argv)}")], system=system)) as fleet,
    ):
        for item in items_of(system):
            results = run_item(fleet, item, seed=SEED)
            failed = sorted({result.requirement for result in results if result.outcome == "fail"})
            warned |= {result.requirement for result in results if result.outcome == "warn"}
            if failed:
                return {"by": item, "rows": failed[:5], "warned": sorted(warned)}
    return {"by": None, "rows": [], "warned": sorted(warned)}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--bus"]:  # as _judged starts it
        be_a_bus(*sys.argv[2:])
    else:
        sys.exit(main())
