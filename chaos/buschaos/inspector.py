"""A second pair of eyes: it reads the files of a store, whatever the bus says of itself.

It runs in a process of its own (`python -m buschaos.inspector MODULE:FUNCTION`, with a Subject's own function: one
folder per line in, one JSON object per line out), because a damaged or half-grown `-shm` file kills its reader with
SIGBUS, and that is a finding, not our end.
"""

from __future__ import annotations

import atexit
import functools
import json
import shlex
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from buschaos.subjects import SUBJECTS
from busproof.bus.base import Lost
from busproof.bus.child import Child
from busproof.bus.warm import Warm

LIMIT_S = 60.0


@functools.cache
def _warm() -> Warm:
    """A run looks with a dozen of them, one after the other; most of the cost of each is to import the systems."""
    warm = Warm(["buschaos.inspector"])
    atexit.register(warm.close)
    return warm


class Inspector:
    """Asks the process, and starts another one when it died."""

    def __init__(self, system: str) -> None:
        look = SUBJECTS[system].truth.inspect
        program = [sys.executable, "-m", "buschaos.inspector", f"{look.__module__}:{look.__qualname__}"]
        self._argv = shlex.split(_warm().spec(f"exec:{shlex.join(program)}").removeprefix("exec:"))
        self._process: Child | None = None

    def look(self, store: Path) -> dict[str, Any]:
        """Facts about the store; `{"died": reason}` if looking at it killed the process."""
        if self._process is None:
            self._process = Child(self._argv)
        try:
            self._process.write_line(json.dumps(str(store)).encode())
            line = self._process.read_line("a look at the files", LIMIT_S)
        except Lost as lost:
            self.close()
            return {"died": f"looking at the files ended the looker: {lost}"}
        facts: dict[str, Any] = json.loads(line)
        return facts

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.close()

    def __enter__(self) -> Inspector:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def main() -> None:
    """Answer until stdin ends."""
    module, _, function = sys.argv[1].partition(":")
    look = getattr(import_module(module), function)
    for line in sys.stdin:
        print(json.dumps(look(Path(json.loads(line)))), flush=True)


if __name__ == "__main__":
    main()
