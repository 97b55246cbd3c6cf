"""Archiving forgets the last number given. The next message has one that another message had."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.03",)
CHAOS = {"points": True, "only": ("archive",)}


class StartsAgain(WorkerBus):
    """Tidies up."""

    def archive(self) -> Any:
        reply = super().archive()
        self.db.write("DELETE FROM sqlite_sequence WHERE name = 'messages'")
        return reply


if __name__ == "__main__":
    serve({"worker": StartsAgain})
