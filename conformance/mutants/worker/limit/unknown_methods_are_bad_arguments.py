"""An unknown method is answered with another number than -32601."""

from refbus import driver
from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.limit.12",)


driver.METHOD_NOT_FOUND = -32000


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
