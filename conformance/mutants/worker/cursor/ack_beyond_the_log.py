"""ack(10**9) is believed and makes its agent deaf for ever (W5)."""

from refbus.driver import serve
from refbus.kernel.rules import cursor
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.cursor.09", "worker.cursor.10")


cursor.advance = lambda current, asked, newest: max(current, asked)


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
