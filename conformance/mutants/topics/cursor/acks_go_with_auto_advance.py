"""An ack_through beside auto_advance=true is passed over in silence."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.cursor import SyncCall
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.21",)


class Mutant(TopicsBus):
    def begin_sync(self, *args: Any, **kwargs: Any) -> SyncCall:
        if kwargs.get("auto_advance", True):
            kwargs.pop("ack_through", None)
        return super().begin_sync(*args, **kwargs)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
