"""A copy is linked into its inbox, and its staged name removed later: a copy that was read by then comes again."""

import os

from refbus.driver import serve
from refbus.relay import tree
from refbus.relay.bus import RelayBus
from refbus.relay.deliver import Delivery

KILLED_BY = ("relay.log.58",)
CHAOS = {"points": True, "only": "scan"}


def linked(self: Delivery, number: str, staged: int, recipient: str, name: str) -> bool:
    try:
        with tree.folder(self._store.root, tree.AGENTS, recipient, tree.INBOX, make=True) as inbox:
            os.link(number, name, src_dir_fd=staged, dst_dir_fd=inbox)
    except (FileNotFoundError, FileExistsError):
        return True
    except NotADirectoryError:
        return False
    return True


Delivery._move = linked  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"relay": RelayBus})
