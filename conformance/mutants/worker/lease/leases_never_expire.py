"""A dead holder keeps its task for ever."""

from refbus.driver import serve
from refbus.kernel.rules import lease
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.lease.05",)


lease.may_take = lambda claim, now_ms: claim is None


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
