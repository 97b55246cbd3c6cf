"""The open file is looked for before a statement alone: one that waits for the lock goes into a file that has gone."""

import math

from refbus.driver import serve
from refbus.kernel import db
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.71",)
CHAOS = {"damage": 1}

db.AT_ONCE_S = math.inf


if __name__ == "__main__":
    serve({"worker": WorkerBus})
