"""archive moves messages that one agent has read, though another has not."""

from refbus.driver import serve
from refbus.kernel.rules import cursor
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.43",)


cursor.archivable_below = lambda cursors: max(cursors, default=0)


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
