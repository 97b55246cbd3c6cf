"""The status is that of the first look, also when a wait brought a message."""

from refbus.topics import cursor
from refbus.topics.cursor import SyncCall
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.24",)


class Call(SyncCall):
    def receive(self) -> None:
        status = self.reply["status"]
        super().receive()
        self.reply["status"] = status


cursor.SyncCall = Call


if __name__ == "__main__":
    raise SystemExit(main())
