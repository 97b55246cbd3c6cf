"""A client_message_id is not kept."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.cursor import SyncCall
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.33",)


class Mutant(TopicsBus):
    def begin_sync(self, *args: Any, **kwargs: Any) -> SyncCall:
        kwargs["outbox"] = [item | {"client_message_id": None} for item in kwargs.get("outbox", ())]
        return super().begin_sync(*args, **kwargs)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
