"""The interval does not go back to fast after a message."""

from refbus.driver import serve
from refbus.kernel.rules import retry
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.retry.07",)


retry.next_poll_ms = lambda interval_ms, found: interval_ms if found else min(interval_ms * 1.5, 2000.0)


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
