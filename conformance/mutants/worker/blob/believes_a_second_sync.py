"""A sync of a blob that failed is called again, and its success believed. The bytes were dropped the first time."""

import os

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.55",)
CHAOS = {"disk_full": True, "only": "save_blob", "levels": (), "errors": ("EIO",)}


_sync = os.fsync


def sync_again(fd: int) -> None:
    """The second time, for sure."""
    try:
        _sync(fd)
    except OSError:
        _sync(fd)


os.fsync = sync_again


if __name__ == "__main__":
    serve({"worker": WorkerBus})
