"""Completed work can be assigned again."""

from refbus.driver import serve
from refbus.worker import states
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.presence.14",)


states.TRANSITIONS["COMPLETED"].add("ASSIGNED")


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
