"""A number that does not fit passes: the check sees one that was made to fit."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.rules import limit
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.limit.05",)
DIES_OF = "INTERNAL"  # of those that SQLite cannot hold


_integer = limit.integer


def _clamped(what: str, value: Any, low: int = 0, high: int = limit.INT64_MAX) -> int:
    return _integer(what, max(low, min(high, value)) if type(value) is int else value, low, high)


limit.integer = _clamped


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
