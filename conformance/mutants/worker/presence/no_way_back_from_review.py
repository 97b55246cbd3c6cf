"""IN_REVIEW cannot go back to WORKING."""

from refbus.driver import serve
from refbus.worker import states
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.presence.12",)


states.TRANSITIONS["IN_REVIEW"].discard("WORKING")


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
