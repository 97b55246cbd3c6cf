"""Work under review can be neither failed nor cancelled."""

from refbus.driver import serve
from refbus.worker import states
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.presence.13",)


states.TRANSITIONS["IN_REVIEW"] -= {"FAILED", "CANCELLED"}


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
