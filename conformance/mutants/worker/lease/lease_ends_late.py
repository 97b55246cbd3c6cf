"""A lease whose end is now is still held."""

from refbus.driver import serve
from refbus.kernel.rules import lease
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.lease.07",)


lease.is_live = lambda claim, now_ms: claim.lease_until_ms >= now_ms


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
