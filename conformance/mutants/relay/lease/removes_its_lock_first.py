"""A close removes .lock before it lets go: another that has just opened the file then holds one without a name."""

import contextlib
import os

from refbus.driver import serve
from refbus.relay.bus import RelayBus
from refbus.relay.lock import Lock

KILLED_BY = ("relay.lease.16",)
CHAOS = {"holds": True, "only": "close", "twice": 24}


def removed(self: Lock) -> None:
    fd, self._fd = self._fd, None
    if fd is not None:
        with contextlib.suppress(OSError):
            os.unlink(self._path)
        os.close(fd)


Lock.release = removed  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"relay": RelayBus})
