"""The export's lock belongs to the process, and is lost when a second descriptor of its file is closed."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from refbus.driver import serve
from refbus.kernel import jsonl
from refbus.kernel.files import write_all
from refbus.kernel.jsonl import JsonlFile
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.66",)
CHAOS = {"holds": True, "only": "export_to_jsonl"}


@contextlib.contextmanager
def locked(self: JsonlFile) -> Iterator[None]:
    """Locks, then looks who it is."""
    with open(self._lock_path, "a+", encoding="utf-8") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        Path(self._lock_path).read_text(encoding="utf-8")
        yield


def at_the_end(fd: int, data: bytes) -> None:
    """As a file that is opened for appending."""
    os.lseek(fd, 0, os.SEEK_END)
    write_all(fd, data)


JsonlFile.locked = locked
jsonl.write_all = at_the_end


if __name__ == "__main__":
    serve({"worker": WorkerBus})
