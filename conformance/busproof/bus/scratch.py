"""The place for stores that nobody will miss: in memory if there is room, since most calls sync one.

BUSPROOF_SCRATCH names another folder, for a bus that cannot live on a tmpfs.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

_MEMORY = Path("/dev/shm")
ROOM_BYTES = 1 << 30  # many stores may stand at once, and a bus may call less than 100 MiB a full disk
ROOM_OF_FEW_BYTES = 48 << 20  # a container has 64 MiB


@contextlib.contextmanager
def scratch(what: str = "", *, room_bytes: int = ROOM_BYTES) -> Iterator[Path]:
    """A folder that goes when the block ends. Its path has no symbolic links."""
    root = os.environ.get("BUSPROOF_SCRATCH") or (_MEMORY if _is_roomy(room_bytes) else None)
    folder = Path(tempfile.mkdtemp(prefix=f"busproof-{what}-" if what else "busproof-", dir=root)).resolve()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _is_roomy(room_bytes: int) -> bool:
    try:
        stat = os.statvfs(_MEMORY)
    except OSError:
        return False
    return os.access(_MEMORY, os.W_OK) and stat.f_bavail * stat.f_frsize >= room_bytes
