"""All blobs are written under one temporary name. Two writers rename each other's bytes."""

import os
from pathlib import Path

from refbus.driver import serve
from refbus.kernel import blob
from refbus.kernel.files import sync_folder
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.66",)
CHAOS = {"holds": True, "only": "save_blob"}


def write_there(path: Path, data: bytes) -> None:
    """Synced and renamed, as it should be."""
    scratch = path.parent / ".tmp"
    fd = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(fd, data)
    os.fsync(fd)
    os.close(fd)
    os.replace(scratch, path)
    sync_folder(path.parent)


blob.atomic_write = write_there


if __name__ == "__main__":
    serve({"worker": WorkerBus})
