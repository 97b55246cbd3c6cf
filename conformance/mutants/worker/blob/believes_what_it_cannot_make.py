"""On a disk that became read-only a blob is taken for one that is there: its message names a file that is not."""

import errno
from pathlib import Path

from refbus.driver import serve
from refbus.kernel import blob
from refbus.kernel.errors import BusError
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.55",)
CHAOS = {"disk_full": True, "only": "save_blob", "levels": (), "errors": ("EROFS",)}

atomic_write = blob.atomic_write


def as_if(path: Path, data: bytes) -> None:
    try:
        atomic_write(path, data)
    except (BusError, OSError) as error:
        cause = error.__cause__ or error
        if getattr(cause, "errno", None) != errno.EROFS:
            raise


blob.atomic_write = as_if


if __name__ == "__main__":
    serve({"worker": WorkerBus})
