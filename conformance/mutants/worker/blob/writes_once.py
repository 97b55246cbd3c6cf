"""One write for a blob, however much of it was taken."""

import contextlib
import os
import secrets
from pathlib import Path

from refbus.driver import serve
from refbus.kernel import blob
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.55",)
CHAOS = {"disk_full": True, "only": "publish with blob", "levels": (1, 2, 3)}


def write_some(path: Path, data: bytes) -> None:
    """As much as fits."""
    scratch = path.parent / f".tmp-{secrets.token_hex(8)}"
    fd = os.open(scratch, os.O_WRONLY | os.O_CREAT, 0o600)
    with contextlib.suppress(OSError):
        os.write(fd, data)
    os.close(fd)
    os.replace(scratch, path)


blob.atomic_write = write_some


if __name__ == "__main__":
    serve({"worker": WorkerBus})
