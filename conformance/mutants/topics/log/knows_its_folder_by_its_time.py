"""The look at the folder compares its time alone, to spare a look at the files: one that is put back has the same."""

import os
import time

from refbus.kernel.sight import TICK_NS, Sight
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.87",)
CHAOS = {"damage": 1}


def is_still_true(self: Sight) -> bool:
    try:
        changed_ns = os.stat(self._folder).st_mtime_ns
    except OSError:
        return False
    if self._seen == (0, changed_ns):
        return True
    if self._files != self._found():
        return False
    if time.time_ns() - changed_ns > TICK_NS:
        self._seen = 0, changed_ns
    return True


Sight.is_still_true = is_still_true  # type: ignore[method-assign]


if __name__ == "__main__":
    raise SystemExit(main())
