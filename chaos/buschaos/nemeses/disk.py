"""A full disk: a small file system of our own, and a file that fills it.

The file system is a tmpfs in a mount namespace of a child process, so it takes no privilege where user namespaces are
allowed, touches nobody else, and goes when the child goes. Where they are not allowed (Docker's default), give the run
a small mounted folder: `docker run --tmpfs /small:size=8m …` and `--disk /small`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SIZE = "16m"
SIZE_MAX = 64 << 20
PAGE = 4096


def why_unavailable(folder: Path) -> str | None:
    """None where a tmpfs can be mounted in a namespace, else the reason."""
    if shutil.which("unshare") is None:
        return "no `unshare` command (util-linux)"
    tried = subprocess.run(in_namespace(folder, ["true"]), capture_output=True, text=True, check=False)
    return None if tried.returncode == 0 else (tried.stderr.strip().splitlines() or ["unshare failed"])[-1]


def why_not_filled(folder: Path) -> str | None:
    """None for a small file system; the reason for one that others need, too."""
    stat = os.statvfs(folder)
    size = stat.f_blocks * stat.f_frsize
    return None if size <= SIZE_MAX else f"{folder} has {size >> 20} MiB: only a disk of 64 MiB or less is filled"


def in_namespace(folder: Path, command: list[str]) -> list[str]:
    """The command, started where the folder is a small tmpfs of its own."""
    as_root = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    mount = f'mount -t tmpfs -o size={SIZE} busproof "$0" && exec "$@"'
    return ["unshare", *as_root, "--mount", "sh", "-c", mount, str(folder), *command]


def python_in_namespace(folder: Path, module: str) -> list[str]:
    """A module of ours, started there."""
    return in_namespace(folder, [sys.executable, "-m", module])


@contextlib.contextmanager
def filled(folder: Path, free_pages: int) -> Iterator[None]:
    """Leave this many pages free while the block runs."""
    filler = folder / "filler"
    try:
        with filler.open("wb", buffering=0) as file:
            # The space that the file system keeps for itself is not known: take all, then give back.
            size = _free(folder)
            while size > 0:
                with contextlib.suppress(OSError):
                    os.posix_fallocate(file.fileno(), 0, size)
                    break
                size -= PAGE
            os.ftruncate(file.fileno(), max(0, size - free_pages * PAGE))
        yield
    finally:
        filler.unlink(missing_ok=True)


def _free(folder: Path) -> int:
    stat = os.statvfs(folder)
    return stat.f_bavail * stat.f_frsize
