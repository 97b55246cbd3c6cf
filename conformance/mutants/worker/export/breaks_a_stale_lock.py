"""A lock file whose maker is dead is removed, and made anew: two that both saw the dead one remove each other's."""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from refbus.driver import serve
from refbus.kernel import jsonl
from refbus.kernel.errors import Busy
from refbus.kernel.files import write_all
from refbus.kernel.jsonl import JsonlFile
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.66",)
CHAOS = {"holds": True, "only": "export_to_jsonl", "against": "the same by another, after a death in it", "twice": 1000}


@contextlib.contextmanager
def locked(self: JsonlFile) -> Iterator[None]:
    """A link that names its maker: made whole or not at all."""
    path = Path(f"{self._lock_path}.made")
    for _ in range(20):
        try:
            path.symlink_to(str(os.getpid()))
            break
        except FileExistsError:
            if is_alive(path):
                time.sleep(0.01)
            else:
                path.unlink(missing_ok=True)
    else:
        raise Busy("another exporter holds the lock")
    yield
    path.unlink(missing_ok=True)


def is_alive(path: Path) -> bool:
    """Does its maker live?"""
    try:
        os.kill(int(path.readlink().name), 0)
    except (ProcessLookupError, FileNotFoundError):
        return False
    return True


def at_the_end(fd: int, data: bytes) -> None:
    """As a file that is opened for appending."""
    os.lseek(fd, 0, os.SEEK_END)
    write_all(fd, data)


JsonlFile.locked = locked
jsonl.write_all = at_the_end


if __name__ == "__main__":
    serve({"worker": WorkerBus})
