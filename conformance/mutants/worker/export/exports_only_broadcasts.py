"""Addressed messages are not exported."""

from refbus.driver import serve
from refbus.worker import export
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.export.01", "worker.export.13")
CONTROL = "export.blob_references"


export._NEXT_ROWS = export._NEXT_ROWS.replace("WHERE seq > :last", "WHERE to_agent IS NULL AND seq > :last")


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
