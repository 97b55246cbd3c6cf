"""The signature covers the sender and the payload alone: a stranger readdresses a message."""

from refbus.driver import serve
from refbus.worker import signing
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.46",)
ITEM = "corpus"


_mac = signing.mac
signing.mac = lambda key, row: _mac(key, (row[3], *row[8:]))


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
