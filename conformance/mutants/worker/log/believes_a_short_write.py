"""A write is called once, and its count is not looked at. A blob may have its first bytes alone."""

import os

from refbus.driver import serve
from refbus.kernel import files
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.55",)
CHAOS = {"disk_full": True, "only": "save_blob", "levels": (), "errors": ("short",)}


def write_once(fd: int, data: bytes) -> None:
    """As if write() took all or nothing."""
    os.write(fd, data)


files.write_all = write_once

if __name__ == "__main__":
    serve({"worker": WorkerBus})
