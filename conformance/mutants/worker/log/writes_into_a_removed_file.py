"""The open file is believed: a write after somebody removed it is acknowledged, and gone."""

from refbus.driver import serve
from refbus.kernel.db import Database
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.64",)

Database.refuse_another_file = lambda self, **how: None  # type: ignore[method-assign]


class Mutant(WorkerBus):
    """The reference, without the look."""


if __name__ == "__main__":
    serve({"worker": Mutant})
