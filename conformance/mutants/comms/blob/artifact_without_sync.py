"""An artifact is renamed into its place before its bytes are on the disk."""

import secrets

from refbus.comms import blob
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.blob.13", "comms.log.93")
CHAOS = {"power": 100}


def write_unsynced(path, data):
    """A temporary file and a rename, and no more."""
    scratch = path.parent / f".tmp-{secrets.token_hex(8)}"
    scratch.write_bytes(data)
    scratch.rename(path)


blob.atomic_write = write_unsynced


if __name__ == "__main__":
    serve({"comms": CommsBus})
