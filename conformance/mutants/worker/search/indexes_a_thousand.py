"""A search indexes a thousand messages, and looks at no more."""

from refbus.driver import serve
from refbus.worker import search
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.search.01",)
ITEM = "corpus"
CONTROL = "log.fields"


search.Search.bring_up_to_date = lambda self: self._index_some()


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
