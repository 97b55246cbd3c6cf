"""The active interval is 100 ms."""

from refbus.driver import serve
from refbus.kernel.rules import retry
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.retry.04",)


retry.POLL_ACTIVE_MS = 100.0


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
