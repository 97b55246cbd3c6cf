"""The idle interval is four seconds."""

from refbus.driver import serve
from refbus.kernel.rules import retry
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.retry.05",)


retry.POLL_IDLE_MS = 4000.0


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
