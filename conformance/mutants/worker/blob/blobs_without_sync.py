"""A blob is renamed into its place before its bytes are on the disk."""

import secrets

from refbus.driver import serve
from refbus.kernel import blob
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.blob.18", "worker.log.65")
CHAOS = {"power": 100}


def write_unsynced(path, data):
    """A temporary file and a rename, and no more."""
    scratch = path.parent / f".tmp-{secrets.token_hex(8)}"
    scratch.write_bytes(data)
    scratch.rename(path)


blob.atomic_write = write_unsynced


if __name__ == "__main__":
    serve({"worker": WorkerBus})
