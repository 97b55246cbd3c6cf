"""WARN begins a millisecond early."""

from refbus.driver import serve
from refbus.kernel.rules import presence
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.presence.07",)


presence.THRESHOLDS_MS = ((300_000, "DEAD"), (100_000, "STALE"), (29_999, "WARN"))


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
