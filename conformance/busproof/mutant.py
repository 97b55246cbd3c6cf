"""Mutants: reference buses with one deliberate fault each, and how they are started.

A mutant is a file `SYSTEM/NOUN/NAME.py`: a sentence that says the fault, and constants, read without running it.

    KILLED_BY = ("worker.log.20",)   rows that must not pass on it
    CONTROL = "log.fields"           an item that it passes, so it is alive; default: the noun's in controls.toml
    ITEM = "corpus"                  the item that kills it, if that is not its rows' own; corpus:NAME, one script
    CHAOS = {"kills": 8}             as much of a chaos run as kills it, if that is not for `check`
    DIES_OF = "no answer"            words of a crash or a time-out, if that is the fault, and not an accident
    DOOR = "nats:"                   the prefix of its --bus, if it is no fault of a file
"""

from __future__ import annotations

import ast
import shlex
import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from busproof.bus.fleet import reference
from busproof.bus.warm import Warm


@dataclass(frozen=True)
class Mutant:
    """One faulty bus."""

    system: str
    noun: str
    path: Path
    sentence: str
    killed_by: tuple[str, ...]
    control: str
    item: str
    chaos: dict[str, Any]
    dies_of: str
    door: str

    @property
    def name(self) -> str:
        """Unique in its system."""
        return self.path.stem

    def spec(self, warm: Warm | None = None) -> str:
        """Its --bus; started from a warm process, if there is one."""
        scheme = reference(self.system).partition(":")[0]
        spec = f"{scheme}:{shlex.join([sys.executable, str(self.path)])}"
        return self.door + (warm.spec(spec) if warm else spec)


@cache
def mutants(system: str) -> dict[str, Mutant]:
    """All mutants of a system, by name. Raises ValueError if one is told wrongly."""
    folder = _folder() / system
    if not folder.is_dir():
        return {}
    controls = tomllib.loads((folder / "controls.toml").read_text(encoding="utf-8"))
    found: dict[str, Mutant] = {}
    for path in sorted(folder.glob("*/*.py")):
        mutant = _read(system, path, controls[path.parent.name])
        if mutant.name in found:
            raise ValueError(f"two mutants of {system} are named {mutant.name}")
        found[mutant.name] = mutant
    return found


def _folder() -> Path:
    """They travel in the wheel beside this package's modules; in a checkout they stand next to it."""
    here = Path(__file__).parent
    return here / "mutants" if (here / "mutants").is_dir() else here.parent / "mutants"


def _read(system: str, path: Path, control: str) -> Mutant:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    told = {
        target.id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(target := node.targets[0], ast.Name) and target.id in _TOLD
    }
    if "KILLED_BY" not in told:
        raise ValueError(f"{path} has no KILLED_BY")
    return Mutant(
        system,
        path.parent.name,
        path,
        ast.get_docstring(tree) or "",
        tuple(told["KILLED_BY"]),
        told.get("CONTROL", control),
        told.get("ITEM", ""),
        told.get("CHAOS", {}),
        told.get("DIES_OF", ""),
        told.get("DOOR", ""),
    )


_TOLD = {"KILLED_BY", "CONTROL", "ITEM", "CHAOS", "DIES_OF", "DOOR"}
