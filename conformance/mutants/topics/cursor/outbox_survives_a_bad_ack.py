"""The outbox is committed before the ack is looked at."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.cursor import SyncCall
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.18",)


class Mutant(TopicsBus):
    def begin_sync(self, *args: Any, **kwargs: Any) -> SyncCall:
        sending = {**kwargs, "auto_advance": False, "ack_through": None}
        first = super().begin_sync(*args, **sending)
        kwargs.pop("outbox", None)
        call = super().begin_sync(*args, **kwargs)
        call.reply["sent"] = first.reply["sent"]
        return call


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
