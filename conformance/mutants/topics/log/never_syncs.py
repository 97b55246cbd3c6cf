"""synchronous = OFF. A power cut leaves only the bytes that reached the disk by chance."""

from refbus.kernel.db import Database
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.83",)
CHAOS = {"power": 60}


class Unsynced(Database):
    """Every connection is told so."""

    def __init__(self, path, *, synchronous="NORMAL", pragmas=()):
        super().__init__(path, synchronous="OFF", pragmas=pragmas)


if __name__ == "__main__":
    import refbus.kernel.store

    refbus.kernel.store.Database = Unsynced
    main(TopicsBus)
