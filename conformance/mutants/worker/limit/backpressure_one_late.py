"""One message more than the bound may wait."""

from refbus.driver import serve
from refbus.kernel.rules import limit
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.limit.13",)


_room = limit.room
limit.room = lambda recipient, unread, more, unread_max: _room(recipient, unread, 0, unread_max)


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
