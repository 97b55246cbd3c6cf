"""A lease is over one millisecond before its end."""

from refbus.driver import serve
from refbus.kernel.rules import lease
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.lease.06",)


lease.is_live = lambda claim, now_ms: claim.lease_until_ms > now_ms + 1


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
