"""The next export goes on where a torn line ends: two half lines become one that is none."""

import contextlib
import json
import os
from pathlib import Path

from refbus.driver import serve
from refbus.kernel.jsonl import JsonlFile
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.export.12",)
CHAOS = {"points": True, "only": "export_to_jsonl"}


def no_repair(self: JsonlFile, fd: int) -> tuple[int, int]:
    """The size as it is; the last seq that a whole line tells."""
    last_seq = 0
    for line in Path(self._path).read_bytes().splitlines():
        with contextlib.suppress(ValueError, KeyError, TypeError):
            last_seq = json.loads(line)["seq"]
    return os.fstat(fd).st_size, last_seq


JsonlFile._repair = no_repair


if __name__ == "__main__":
    serve({"worker": WorkerBus})
