"""A ref is not the hash of its file."""

import hashlib

from refbus.driver import serve
from refbus.kernel import blob
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.blob.04",)


blob.ref_of = lambda data: f"sha256-{hashlib.sha256(b'salt' + data).hexdigest()}"


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
