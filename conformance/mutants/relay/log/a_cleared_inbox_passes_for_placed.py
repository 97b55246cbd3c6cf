"""An inbox that is gone when a copy comes into it passes for copies placed before: its own and more are lost."""

import os
from typing import Any

from refbus.driver import serve
from refbus.relay import tree
from refbus.relay.bus import RelayBus
from refbus.relay.deliver import Delivery

KILLED_BY = ("relay.log.67",)
CHAOS = {"holds": True, "only": "scan"}


def place(self: Delivery, payload: dict[str, Any]) -> list[int]:
    try:
        with tree.folder(self._store.root, tree.TMP, payload["dir"]) as staged:
            return [
                row
                for number, recipient, name, row in payload["copies"]
                if not move(self, number, staged, recipient, name)
            ]
    except FileNotFoundError:
        return []


def move(self: Delivery, number: str, staged: int, recipient: str, name: str) -> bool:
    try:
        with tree.folder(self._store.root, tree.AGENTS, recipient, tree.INBOX, make=True) as inbox:
            os.rename(number, name, src_dir_fd=staged, dst_dir_fd=inbox)
    except NotADirectoryError:
        return False
    return True


Delivery.place = place  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"relay": RelayBus})
