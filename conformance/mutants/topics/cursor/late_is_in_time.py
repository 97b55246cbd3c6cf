"""After a wait for the lock the server does not check whether the time is over."""

import math

from refbus.topics import cursor
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.34",)


class Call(cursor.SyncCall):
    def receive(self) -> None:
        deadline, self.deadline = self.deadline, math.inf
        super().receive()
        self.deadline = deadline


cursor.SyncCall = Call


if __name__ == "__main__":
    raise SystemExit(main())
