"""A holder may renew and release with a token of an earlier grant."""

from refbus.driver import serve
from refbus.kernel.rules import lease
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.lease.18", "worker.lease.19")


lease.may_keep = lambda claim, agent, token: claim is not None and claim.claimed_by == agent


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
