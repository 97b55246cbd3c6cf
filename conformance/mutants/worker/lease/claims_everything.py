"""Every claim is granted."""

from refbus.driver import serve
from refbus.kernel.rules import lease
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.lease.03", "worker.lease.21", "worker.lease.22", "worker.lease.25")
CONTROL = "lease.only_the_holder_renews"


lease.may_take = lambda claim, now_ms: True


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
