"""The reply tells where the reader stood before the call."""

from refbus.topics import sync
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main
from refbus.topics.message import Draft
from refbus.topics.sync import SyncCall

KILLED_BY = ("topics.cursor.22", "topics.cursor.39")


class Call(SyncCall):
    def exchange(self, items: list[Draft], ack_through: int | None) -> None:
        super().exchange(items, ack_through)
        if self._consumed:
            self.reply["cursor"]["last_seq"] = self._consumed[0]


sync.SyncCall = Call


if __name__ == "__main__":
    raise SystemExit(main(TopicsBus))
