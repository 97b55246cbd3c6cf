"""A file whose time exceeds 64 bits of nanoseconds is passed over: it gets no row."""

import os

from refbus.driver import serve
from refbus.relay import tree
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.limit.19",)

_look = tree.look


def overlooks(name: str, fd: int) -> os.stat_result:
    found = _look(name, fd)
    if not -(2**63) <= found.st_mtime_ns < 2**63:
        raise FileNotFoundError(name)
    return found


tree.look = overlooks


if __name__ == "__main__":
    serve({"relay": RelayBus})
