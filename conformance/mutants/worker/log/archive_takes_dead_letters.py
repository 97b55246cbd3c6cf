"""The archive moves dead letters out, which nobody can redrive then."""

from refbus.driver import serve
from refbus.worker import archive
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.42",)
ITEM = "corpus"


archive._COPY = archive._COPY.replace("AND seq NOT IN (SELECT seq FROM dead_letters)", "")


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
