"""auto_advance=false is ignored."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.cursor import SyncCall
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.14", "topics.cursor.36")


class Mutant(TopicsBus):
    def begin_sync(self, *args: Any, **kwargs: Any) -> SyncCall:
        kwargs["auto_advance"] = True
        kwargs.pop("ack_through", None)
        return super().begin_sync(*args, **kwargs)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
