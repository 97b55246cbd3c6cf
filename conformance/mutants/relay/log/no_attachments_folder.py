"""Opening makes no folder for attachments."""

from pathlib import Path

from refbus.driver import serve
from refbus.relay import tree
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.01",)


make = tree.make


def careless(root: Path) -> None:
    make(root)
    (root / "attachments").rmdir()


tree.make = careless


if __name__ == "__main__":
    serve({"relay": RelayBus})
