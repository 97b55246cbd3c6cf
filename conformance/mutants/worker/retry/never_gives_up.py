"""No message ever becomes a dead letter (W11)."""

from refbus.driver import serve
from refbus.kernel.rules import retry
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.retry.08", "worker.retry.09")


retry.is_dead = lambda deliveries, deliveries_max: False


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
