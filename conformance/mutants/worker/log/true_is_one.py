"""A retry that says true where 1 was said is the same message."""

from types import SimpleNamespace

from refbus.driver import serve
from refbus.worker import log
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.11",)
ITEM = "corpus"


log.jsontext = SimpleNamespace(decode=log.jsontext.decode, canonical=lambda value: value)


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
