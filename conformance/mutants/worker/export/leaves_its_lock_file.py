"""The lock of an export is a file that its maker removes. A killed maker leaves it for ever."""

import contextlib
import os
import time
from collections.abc import Iterator

from refbus.driver import serve
from refbus.kernel.errors import Busy
from refbus.kernel.jsonl import JsonlFile
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.export.12",)
CHAOS = {"points": True, "only": "export_to_jsonl"}


@contextlib.contextmanager
def locked(self: JsonlFile) -> Iterator[None]:
    """Made by the process that comes first."""
    path = f"{self._lock_path}.made"
    for _ in range(50):
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
            break
        except FileExistsError:
            time.sleep(0.01)
    else:
        raise Busy("another exporter holds the lock")
    yield
    os.unlink(path)


JsonlFile.locked = locked


if __name__ == "__main__":
    serve({"worker": WorkerBus})
