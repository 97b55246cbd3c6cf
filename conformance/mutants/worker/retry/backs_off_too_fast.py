"""The interval doubles on each empty poll."""

from refbus.driver import serve
from refbus.kernel.rules import retry
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.retry.06",)


retry.POLL_BACKOFF = 2.0


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
