"""A value of another type is turned into text."""

from refbus.driver import serve
from refbus.kernel.rules import limit
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.limit.01",)
CONTROL = "limit.text"


_text = limit.text
limit.text = lambda what, value: _text(what, value if isinstance(value, str) else str(value))


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
