"""A payload may be as large as memory."""

from refbus.driver import serve
from refbus.kernel.rules import limit
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.limit.07",)


limit.PAYLOAD_BYTES_MAX = 10**12


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
