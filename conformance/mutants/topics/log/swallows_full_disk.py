"""Any error of SQLite is DB_BUSY (W8 of another bus). A full disk reads as contention."""

from refbus.kernel.errors import BusError
from refbus.topics.bus import TopicsBus
from refbus.topics.cursor import SyncCall
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.77",)
CHAOS = {"disk_full": True, "levels": (0,), "errors": ()}


class SwallowsFullDisk(TopicsBus):
    """Tells its caller to try again."""

    def begin_sync(self, *args: object, **how: object) -> SyncCall:
        try:
            return super().begin_sync(*args, **how)  # type: ignore[arg-type]
        except BusError as error:
            error.code = "DB_BUSY" if error.code == "DISK_FULL" else error.code
            raise


if __name__ == "__main__":
    main(SwallowsFullDisk)
