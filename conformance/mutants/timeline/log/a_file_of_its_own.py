"""Every process has a file of its own."""

import os
from pathlib import Path

from refbus.driver import serve
from refbus.timeline import store
from refbus.timeline.bus import TimelineBus
from refbus.timeline.sqlite import SqliteQueue

KILLED_BY = ("timeline.log.09",)
ITEM = "corpus:program_05"
CONTROL = "retry.time_out"

store.SqliteQueue = lambda folder, **options: SqliteQueue(_own(folder), **options)  # type: ignore[assignment, misc]


def _own(folder: Path) -> Path:
    own = folder / str(os.getpid())
    own.mkdir(exist_ok=True)
    return own


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
