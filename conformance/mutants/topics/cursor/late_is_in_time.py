"""After a wait for the lock nobody asks whether the time is over."""

import math

from refbus.topics import sync
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main
from refbus.topics.sync import SyncCall

KILLED_BY = ("topics.cursor.34",)


class Call(SyncCall):
    def receive(self) -> None:
        deadline, self._deadline = self._deadline, math.inf
        super().receive()
        self._deadline = deadline


sync.SyncCall = Call


if __name__ == "__main__":
    raise SystemExit(main(TopicsBus))
