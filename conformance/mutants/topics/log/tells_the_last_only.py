"""Only the last of several sent messages is told."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.cursor import SyncCall
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.48",)


class Mutant(TopicsBus):
    def begin_sync(self, *args: Any, **kwargs: Any) -> SyncCall:
        call = super().begin_sync(*args, **kwargs)
        call.reply["sent"] = call.reply["sent"][-1:]
        return call


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
