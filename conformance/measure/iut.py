"""`python iut.py MODULE FILE PROGRAM NAME=VALUE…`: the reference, with one of its modules read from FILE.

With REACHED in its environment, the file of that name gets a line for each function of the reference that is called.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import threading
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, file: str) -> None:
        super().__init__(name, path)
        self._file = file

    def get_data(self, path: str) -> bytes:  # type: ignore[override]
        return Path(self._file if path == self.path else path).read_bytes()

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        module.__file__ = self._file  # a start of it as a program of its own starts this one

    def path_stats(self, path: str) -> dict[str, float]:  # type: ignore[override]
        raise OSError("its compiled form is not to be kept")


class _Finder(MetaPathFinder):
    def __init__(self, module: str, file: str) -> None:
        self._module, self._file = module, file

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != self._module:
            return None
        spec = PathFinder.find_spec(name, path, target)
        assert spec is not None and spec.origin is not None
        spec.loader = _Loader(name, spec.origin, self._file)
        return spec


class _Reached:
    """Writes at once: a process may be killed."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._seen: set[object] = set()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or code in self._seen:
            return
        self._seen.add(code)
        module = frame.f_globals.get("__name__", "")
        if "refbus" in code.co_filename and code.co_name != "<module>":
            module = frame.f_globals["__spec__"].name if module == "__main__" else module
            last = max(line for *_, line in code.co_lines() if line is not None)
            line = json.dumps([module, code.co_firstlineno, last, code.co_names])
            os.write(self._file, line.encode() + b"\n")


if __name__ == "__main__":
    _, module, file, program, *environment = sys.argv
    os.environ.update(pair.split("=", 1) for pair in environment)
    sys.meta_path.insert(0, _Finder(module, file))
    sys.argv = [program]
    if os.environ.get("REACHED"):
        reached = _Reached(os.environ["REACHED"])
        threading.setprofile(reached)
        sys.setprofile(reached)
    runpy.run_module(program, run_name="__main__", alter_sys=True)
