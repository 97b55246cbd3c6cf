"""An agent cannot say that it is blocked."""

from refbus.driver import serve
from refbus.kernel.rules import presence
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.presence.02",)
CONTROL = "presence.thresholds"


presence.STATUSES = ("idle", "working")


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
