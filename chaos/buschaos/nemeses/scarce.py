"""Too few descriptors, too little memory: the limits of a process are lowered while it lives, and raised again."""

from __future__ import annotations

import contextlib
import itertools
import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

Scarce = Literal["descriptors", "KiB of memory"]
_LIMITS = {"descriptors": resource.RLIMIT_NOFILE, "KiB of memory": resource.RLIMIT_AS}


@contextlib.contextmanager
def scarce(pid: int, what: Scarce, left: int) -> Iterator[None]:
    """Leave a process and its children only so much more than they have now, while the block runs."""
    before = {}
    try:
        for process in _tree(pid):
            # No privilege is needed for processes of our own; the old limit is noted before it is changed.
            soft, hard = resource.prlimit(process, _LIMITS[what])
            before[process] = (soft, hard)
            resource.prlimit(process, _LIMITS[what], (_limit(process, what, left), hard))
        yield
    finally:
        for process, limits in before.items():
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(process, _LIMITS[what], limits)


def _limit(process: int, what: Scarce, left: int) -> int:
    if what == "KiB of memory":
        pages = int(Path(f"/proc/{process}/statm").read_text("ascii").split()[0])
        return pages * resource.getpagesize() + left * 1024
    # One above the highest descriptor that there may be: the lower ones that are free count.
    taken = {int(name) for name in os.listdir(f"/proc/{process}/fd")}
    free = (number for number in itertools.count() if number not in taken)
    return next(itertools.islice(free, left, None))


def _tree(pid: int) -> Iterator[int]:
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text("ascii").split():
            yield from _tree(int(child))
