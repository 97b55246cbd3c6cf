"""Names may hold NUL."""

from refbus.driver import serve
from refbus.kernel.rules import limit
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.limit.03",)


_text = limit.text
limit.text = lambda what, value: value if isinstance(value, str) and "\0" in value else _text(what, value)


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
