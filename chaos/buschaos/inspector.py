"""A second pair of eyes: what the files of a store say, whatever the bus says of itself.

It runs in a process of its own (`python -m buschaos.inspector MODULE:FUNCTION`, a
Subject's own: a folder a line in, a JSON object a line out),
because a damaged or half-grown `-shm` file kills its reader with SIGBUS, and that is a finding, not our end.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from buschaos.subjects import SUBJECTS

LIMIT_S = 60.0


class Inspector:
    """Asks the process, and starts another one when it died."""

    def __init__(self, system: str) -> None:
        self._look = SUBJECTS[system].truth.inspect
        self._process: subprocess.Popen[bytes] | None = None

    def look(self, store: Path) -> dict[str, Any]:
        """Facts about the store; `{"died": reason}` if looking at it killed the process."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "buschaos.inspector", f"{self._look.__module__}:{self._look.__qualname__}"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C is ours alone
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(str(store)).encode() + b"\n")
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            status = self._process.wait()
            self.close()
            return {"died": f"looking at the files ended the looker, status {status}"}
        facts: dict[str, Any] = json.loads(line)
        return facts

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.communicate(timeout=LIMIT_S)

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
