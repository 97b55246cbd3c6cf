"""Broadcasts do not count as unread."""

from refbus.driver import serve
from refbus.worker import route
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.limit.16",)
ITEM = "corpus"


route._COUNT_UNREAD = route._COUNT_UNREAD.replace("WHERE to_agent IS NULL AND", "WHERE FALSE AND")


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
