"""A message that was archived before it was exported is never exported."""

from refbus.driver import serve
from refbus.worker import export
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.export.01",)
ITEM = "corpus"
CONTROL = "log.fields"


export._NEXT_ROWS = export._NEXT_ROWS.replace("archived_messages", "messages").replace("UNION ALL", "UNION")


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
