"""An error of the disk ends the server, with no answer."""

import os

from refbus.kernel.errors import BusError
from refbus.topics.bus import TopicsBus
from refbus.topics.cursor import SyncCall
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.76",)
CHAOS = {"disk_full": True, "levels": (0,), "errors": ()}


class DiesOfAFullDisk(TopicsBus):
    """Gives up."""

    def begin_sync(self, *args: object, **how: object) -> SyncCall:
        try:
            return super().begin_sync(*args, **how)  # type: ignore[arg-type]
        except BusError as error:
            if error.code == "DISK_FULL":
                os._exit(3)
            raise


if __name__ == "__main__":
    main(DiesOfAFullDisk)
