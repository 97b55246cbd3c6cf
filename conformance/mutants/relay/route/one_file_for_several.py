"""Copies of one large message are one file, under a name in each inbox."""

import os
from typing import Any

from refbus.driver import serve
from refbus.relay import deliver, tree
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.route.23",)
ITEM = "corpus:large_ones_to_several"

LARGE_BYTES = 50_000
write = deliver.Delivery._write


def shared(delivery: deliver.Delivery, name: str, data: bytes, fd: int) -> Any:
    stat = write(delivery, name, data, fd)
    for other in sorted(os.listdir(fd)) if len(data) > LARGE_BYTES else ():
        with open(other, "rb", opener=lambda path, flags: os.open(path, flags, dir_fd=fd)) as file:
            is_twin = other != name and file.read() == data
        if is_twin:
            os.unlink(name, dir_fd=fd)
            os.link(other, name, src_dir_fd=fd, dst_dir_fd=fd)
            return tree.stat_of(os.stat(name, dir_fd=fd))
    return stat


deliver.Delivery._write = shared  # type: ignore[method-assign]

if __name__ == "__main__":
    serve({"relay": RelayBus})
