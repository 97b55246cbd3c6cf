"""The server asks whether a message is there before it takes the lock, and the syncs of a session run side by side."""

import asyncio
import time
from typing import Any

from refbus.topics import log, message, store
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp import server
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.67",)

SEED, FAULT = ("UNIQUE INDEX IF NOT EXISTS idx_messages_topic_sender", "INDEX IF NOT EXISTS idx_messages_topic_sender")
assert SEED in store.SCHEMA.seed
store.SCHEMA = store.SCHEMA._replace(seed=store.SCHEMA.seed.replace(SEED, FAULT))

stored = log.stored


class SideBySide(server.Session):
    def __init__(self, bus: TopicsBus) -> None:
        super().__init__(bus)
        self.taking = asyncio.Semaphore(4)


server.Session = SideBySide


class Mutant(TopicsBus):
    def begin_sync(self, topic_id: str, outbox: Any = None, *args: Any, **kwargs: Any) -> Any:
        name, items = self.lease.identity(topic_id).agent_name, message.drafts(outbox)
        with self.store.snapshot() as tx:
            known = stored(tx, topic_id, name, items)
        time.sleep(0.05)
        log.stored = lambda *_: known
        return super().begin_sync(topic_id, outbox, *args, **kwargs)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
