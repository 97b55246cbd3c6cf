"""The outbox is committed before the ack is looked at."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.cursor import SyncCall
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.18",)


class Mutant(TopicsBus):
    def begin_sync(self, *args: Any, **kwargs: Any) -> SyncCall:
        first = super().begin_sync(kwargs["topic_id"], kwargs.pop("outbox", None), 1, False, 0, False)
        call = super().begin_sync(*args, **kwargs)
        call.reply["sent"] = first.reply["sent"]
        return call


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
