"""A lock that another holds for a moment is an error at once."""

from refbus.driver import serve
from refbus.kernel import db
from refbus.kernel.rules import retry
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.49", "worker.log.50")


db.BUSY_TIMEOUT_MS = 0
retry.LOCK_ATTEMPTS_MAX = 1


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
