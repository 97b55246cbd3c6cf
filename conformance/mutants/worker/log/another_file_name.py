"""The database is not bus.db."""

from refbus.driver import serve
from refbus.worker import store
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.29",)


store.DB_NAME = "messages.db"


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
