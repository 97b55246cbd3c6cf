"""Archived messages are not found."""

from refbus.driver import serve
from refbus.worker import search
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.search.08",)
ITEM = "corpus"
CONTROL = "log.fields"


search._MATCHING = search._MATCHING.replace("archived_messages", "messages").replace("UNION ALL", "UNION")


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
