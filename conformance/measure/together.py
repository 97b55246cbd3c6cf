"""`python conformance/measure/together.py FILE…`: one bus that makes the choices of several programs at once.

A program of a choice is a mutant or a variant: its changes of refbus stay, and the bus that it would serve is a
base of the one that is served here. Two that touch one thing do not go together.
"""

from __future__ import annotations

import contextlib
import importlib
import runpy
import sys
from collections.abc import Iterator, Mapping
from typing import Any
from unittest import mock

from refbus import driver
from refbus.topics.mcp import server

PARTS = (dict, set, frozenset, list, tuple, str, int, float)  # are told by their content, anything else by its identity


def main(paths: list[str]) -> int:
    """Serve it as the programs would: topics over MCP, the others line by line."""
    with _served() as buses:
        for path in paths:
            _change(path)
    (system,) = {system for system, _ in buses}
    if system == "topics":
        return server.main(_together(bus for _, bus in buses))
    driver.serve({system: _together(bus for _, bus in buses)})
    return 0


def touched(system: str, path: str) -> set[str]:
    """The names in refbus that a program changes, and the methods of its bus. Leaves refbus changed: fork for it."""
    importlib.import_module(f"refbus.{system}.bus")
    with _served() as buses:
        before = dict(_names())
        _change(path)
        changed = {name for name, value in _names() if before.get(name, value) != value}
    _, bus = buses[0]
    return changed | {f"bus.{name}" for name in _own(bus) if bus.__module__ == "__main__"}


def _change(path: str) -> None:
    with contextlib.suppress(SystemExit):
        runpy.run_path(path, run_name="__main__")


@contextlib.contextmanager
def _served() -> Iterator[list[tuple[str, type]]]:
    """Collect the buses that the programs would serve meanwhile, and serve none."""
    buses: list[tuple[str, type]] = []

    def note(served: Mapping[str, type]) -> None:
        buses.extend(served.items())

    def note_server(bus: type = server.TopicsBus) -> int:
        buses.append(("topics", bus))
        return 0

    with mock.patch.object(driver, "serve", note), mock.patch.object(server, "main", note_server):
        yield buses


def _together(buses: Iterator[type]) -> type:
    """A class of all of them; a base of another is in it already."""
    bases = list(dict.fromkeys(buses))
    needed = [one for one in bases if not any(other is not one and issubclass(other, one) for other in bases)]
    return type("Together", tuple(needed), {})


def _names() -> Iterator[tuple[str, Any]]:
    """Every name in the modules of refbus, and in their classes, with a mark of its value."""
    for module in [module for name, module in sys.modules.items() if name.partition(".")[0] == "refbus"]:
        for name, value in list(vars(module).items()):
            if not name.startswith("__"):
                yield f"{module.__name__}.{name}", _mark(value)
            if isinstance(value, type) and value.__module__ == module.__name__:
                for inner in _own(value):
                    yield f"{value.__module__}.{value.__qualname__}.{inner}", _mark(vars(value)[inner])


def _own(kind: type) -> list[str]:
    return [name for name in vars(kind) if not name.startswith("__") or name == "__init__"]


def _mark(value: object) -> Any:
    return repr(value) if isinstance(value, PARTS) else id(value)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
