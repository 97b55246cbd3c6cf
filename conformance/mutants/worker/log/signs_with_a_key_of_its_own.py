"""A message is signed with a key that no reader has."""

from refbus.driver import serve
from refbus.worker import signing
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.48",)


_mac = signing.mac
signing.mac = lambda key, row: _mac(key + b"mine", row)
signing.is_signed = lambda key, row, signature: _mac(key, row) == signature


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
