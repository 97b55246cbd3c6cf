"""One message more than the bound may wait."""

from refbus.driver import serve
from refbus.kernel.rules import limit
from refbus.worker.bus import WorkerBus
from refbus.worker.route import Routes

KILLED_BY = ("worker.limit.13",)


_room, _count_unread = limit.room, Routes.count_unread
limit.room = lambda recipient, unread, more, unread_max: _room(recipient, unread, more, unread_max + 1)
Routes.count_unread = lambda self, tx, agent, count_max: _count_unread(self, tx, agent, count_max + 1)


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
