"""The status is that of the first look, also when a wait brought a message."""

from refbus.topics import sync
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main
from refbus.topics.sync import SyncCall

KILLED_BY = ("topics.cursor.24",)


class Call(SyncCall):
    def receive(self) -> None:
        status = self.reply["status"]
        super().receive()
        self.reply["status"] = status


sync.SyncCall = Call


if __name__ == "__main__":
    raise SystemExit(main(TopicsBus))
