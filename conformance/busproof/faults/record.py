"""The faults of a system, read from their declarations without running them."""

from __future__ import annotations

import ast
import contextlib
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from busproof.bus.fleet import reference
from busproof.bus.warm import Warm
from busproof.systems import SYSTEMS

CHOICES = "choices"  # the file of the faults that break nothing


@dataclass(frozen=True)
class Fault:
    """One faulty bus, or program. plant.py says what the fields mean."""

    system: str
    noun: str
    name: str
    sentence: str
    source: str
    rows: tuple[str, ...] = ()
    control: str = ""
    item: str = ""
    chaos: dict[str, Any] = field(default_factory=dict)
    dies_of: str = ""
    door: str = ""
    test: str = ""
    author: str = ""

    @property
    def id(self) -> str:
        """SYSTEM.NOUN.NAME; the last part alone is unique in its system."""
        return f"{self.system}.{self.noun}.{self.name}"

    @property
    def found_by(self) -> str:
        """The means that finds it; a choice is found by none."""
        if self.test:
            return "test"
        return "chaos" if self.chaos else "check" if self.rows else "choice"

    def spec(self, warm: Warm | None = None) -> str:
        """Its --bus; started from a warm process, if there is one."""
        return self.door + started(self.system, [self.id], warm)

    def command(self, *program: str) -> list[str]:
        """A program of the reference, or of its tests, with the fault: a module and its arguments."""
        return [sys.executable, str(folder() / "start.py"), self.id, *program]


def started(system: str, ids: list[str], warm: Warm | None) -> str:
    """The --bus of the reference with these faults at once."""
    scheme = reference(system).partition(":")[0]
    spec = f"{scheme}:{shlex.join([sys.executable, str(folder() / 'start.py'), '+'.join(ids)])}"
    return warm.spec(spec) if warm else spec


@cache
def folder() -> Path:
    """The declarations of the checkout around the kit, or around the working folder; a wheel has the demo's alone."""
    here = Path(__file__).parent
    roots = [here.parents[2]]
    with contextlib.suppress(OSError):  # a working folder that is gone
        roots += [Path.cwd(), *Path.cwd().parents]
    checkouts = (root / "conformance" / "faults" for root in roots)
    return next((faults for faults in checkouts if faults.is_dir()), here / "planted")


@cache
def faults(system: str) -> dict[str, Fault]:
    """All faults of a system but its choices, by name. Raises ValueError if a declaration is wrong."""
    return {name: each for name, each in _declared(system).items() if each.noun != CHOICES}


def choices(system: str) -> dict[str, Fault]:
    """The declared choices of a system, by name."""
    return {name: each for name, each in _declared(system).items() if each.noun == CHOICES}


def named(names: list[str]) -> list[Fault]:
    """The faults that these names mean: SYSTEM.NOUN.NAME or the parts it begins with. Raises KeyError for no fault."""
    every = [each for system in SYSTEMS for each in _declared(system).values()]
    chosen: dict[str, Fault] = {}
    for name in names:
        meant = [each for each in every if f"{each.id}.".startswith(f"{name}.")]
        if not meant:
            raise KeyError(name)
        chosen |= {each.id: each for each in meant}
    return list(chosen.values())


@cache
def _declared(system: str) -> dict[str, Fault]:
    declared: dict[str, Fault] = {}
    for path in sorted((folder() / system).glob("*.py")):
        for each in _of_file(system, path):
            if declared.setdefault(each.name, each) is not each:
                raise ValueError(f"two faults of {system} are named {each.name}")
    return declared


def _of_file(system: str, path: Path) -> Iterator[Fault]:
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    control = ""
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "CONTROL":
            control = ast.literal_eval(node.value)
        if not isinstance(node, ast.FunctionDef | ast.ClassDef) or not node.decorator_list:
            continue
        call = node.decorator_list[0]
        sentence = " ".join((ast.get_docstring(node) or "").split())
        if not isinstance(call, ast.Call) or ast.unparse(call.func) != "fault" or not sentence:
            raise ValueError(f"{path}:{node.lineno}: a fault has the decorator @fault(…) and a docstring")
        options: dict[str, Any] = {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg}
        options = {"control": control, **options}
        source = "\n".join(lines[call.lineno - 1 : node.end_lineno])
        rows = tuple(map(ast.literal_eval, call.args))
        if (path.stem == CHOICES) == bool(rows or "test" in options):
            raise ValueError(f"{path}:{node.lineno}: a fault names rows, or the test that finds it; a choice does not")
        yield Fault(system, path.stem, _snake(node.name), sentence, source, rows, **options)


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
