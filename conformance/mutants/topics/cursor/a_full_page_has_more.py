"""has_more says whether the page is full."""

from typing import Any

from refbus.topics import sync
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main
from refbus.topics.sync import SyncCall

KILLED_BY = ("topics.cursor.06",)


class Call(SyncCall):
    def _read(self, *args: Any) -> tuple[list[dict[str, Any]], bool, int]:
        messages, _, passed = super()._read(*args)
        return messages, len(messages) == self._max_items, passed


sync.SyncCall = Call


if __name__ == "__main__":
    raise SystemExit(main(TopicsBus))
