"""An outbox is stored message by message, until one is refused."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.cursor import SyncCall
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.60",)


class Mutant(TopicsBus):
    def begin_sync(self, topic_id: str, outbox: Any = None, *args: Any, **kwargs: Any) -> SyncCall:
        *firsts, last = [[item] for item in outbox] if outbox else [None]
        sent = []
        for first in firsts:
            sent += super().begin_sync(topic_id, first, auto_advance=False).reply["sent"]
        call = super().begin_sync(topic_id, last, *args, **kwargs)
        call.reply["sent"] = sent + call.reply["sent"]
        return call


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
