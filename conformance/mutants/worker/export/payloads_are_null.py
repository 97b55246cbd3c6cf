"""Every line of the export has a payload of null."""

from refbus.driver import serve
from refbus.worker import export
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.export.02",)
ITEM = "corpus"
CONTROL = "log.fields"


_line = export._line
export._line = lambda row: _line((*row[:-2], None, row[-1]))


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
