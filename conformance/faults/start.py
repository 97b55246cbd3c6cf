"""`python start.py SYSTEM.NOUN.NAME[+NAME…] [PROGRAM ARGUMENT…]`: the reference with a fault, or with several choices.

Serves the bus as the reference does: topics over MCP, the others line by line. With PROGRAM, a module of the reference,
it runs that with the fault instead: `start.py relay.cli.NAME refbus relay --root FOLDER run`.
"""

from __future__ import annotations

import importlib.util
import runpy
import sys
from pathlib import Path
from typing import Any

from refbus.driver import _Reference, serve


def main(argv: list[str]) -> int:
    """Plant, then serve or run."""
    names, *program = argv
    buses = [bus for name in names.split("+") if (bus := planted(name)) is not None]
    system = names.partition(".")[0]
    if program:
        sys.argv = program
        runpy.run_module(program[0], run_name="__main__", alter_sys=True)
    elif system == "topics":
        from refbus.topics.mcp import server

        return server.main(*_as_one(buses))
    else:
        serve({system: next(iter(_as_one(buses)), None) or _Reference()[system]})
    return 0


def planted(name: str) -> type | None:
    """Plant the fault of this name; its bus, if it has one of its own."""
    system, noun, own = name.split(".")
    module = _module(system, noun)
    declared = getattr(module, own, None) or getattr(module, "".join(map(str.capitalize, own.split("_"))))
    bus: type | None = declared if isinstance(declared, type) else declared()
    return bus


def _module(system: str, noun: str) -> Any:
    """By its path: the names of systems and nouns belong to others, too."""
    name = f"faults_{system}_{noun}"
    if name not in sys.modules:
        path = Path(__file__).parent / system / f"{noun}.py"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def _as_one(buses: list[type]) -> list[type]:
    """At most one class, of all of them; a base of another is in that already."""
    kinds = list(dict.fromkeys(buses))
    needed = [kind for kind in kinds if not any(other is not kind and issubclass(other, kind) for other in kinds)]
    return needed if len(needed) < 2 else [type("Together", tuple(needed), {})]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
