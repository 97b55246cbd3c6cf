"""A write is called once, and its count is not looked at. An artifact may have its first bytes alone."""

import os

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel import files

KILLED_BY = ("comms.log.73",)
CHAOS = {"disk_full": True, "only": "write_artifact", "levels": (), "errors": ("short",)}


def write_once(fd: int, data: bytes) -> None:
    """As if write() took all or nothing."""
    os.write(fd, data)


files.write_all = write_once

if __name__ == "__main__":
    serve({"comms": CommsBus})
