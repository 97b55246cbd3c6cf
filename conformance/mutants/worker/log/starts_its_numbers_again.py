"""A number that archiving has freed is given again: the next message has one that another message had."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.03",)
CHAOS = {"points": True, "only": ("archive",)}


class StartsAgain(WorkerBus):
    """The first number that is free."""

    def publish(self, **how: Any) -> Any:
        reply = super().publish(**how)
        if self.db.row("SELECT 1 FROM messages WHERE seq = 1") is None:
            self.db.write("UPDATE messages SET seq = 1 WHERE seq = ?", (reply["seq"],))
            reply["seq"] = 1
        return reply


if __name__ == "__main__":
    serve({"worker": StartsAgain})
