"""A file that is too large is opened, looked at, and left open."""

import os
from typing import Any

from refbus.driver import serve
from refbus.relay import tree
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.limit.18",)

_read, _left = tree.read, list[int]()


def _leaks(name: str, fd: int, bytes_max: int) -> Any:
    found = _read(name, fd, bytes_max)
    if found[0].st_size > bytes_max:
        _left.append(os.open(os.devnull, os.O_RDONLY))
    return found


tree.read = _leaks

if __name__ == "__main__":
    serve({"relay": RelayBus})
