"""Words of a payload that is a blob find nothing."""

from refbus.driver import serve
from refbus.worker import search
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.search.07",)
ITEM = "corpus"
CONTROL = "log.fields"


_words = search.Search.words
search.Search.words = lambda self, text, ref: _words(self, text, ref) if ref is None else ""


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
