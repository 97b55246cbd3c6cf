"""A state change is published by the bus, not by the worker."""

from refbus.driver import serve
from refbus.worker import states
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.06",)
ITEM = "corpus"


_announce = states.States.announce
states.States.announce = lambda self, tx, worker, *way: _announce(self, tx, "bus", *way)


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
