"""Whether a message is there is asked before the lock is taken, and the syncs of a session run side by side."""

import time
from typing import Any

import anyio

from refbus.topics import message, store, sync
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp import server

KILLED_BY = ("topics.log.67",)

statements = store.statements
store.statements = lambda file: [text for text in statements(file) if "client_id_unique" not in text]

stored = sync._stored


class SideBySide(server.Session):
    def __init__(self, bus: TopicsBus) -> None:
        super().__init__(bus)
        self._taking = anyio.Semaphore(4)


server.Session = SideBySide


class Mutant(TopicsBus):
    def begin_sync(self, topic_id: str, outbox: Any = None, *args: Any, **kwargs: Any) -> sync.SyncCall:
        with self._snapshot() as connection:
            name, items = self._my_name(topic_id), message.drafts(outbox)
            known = stored(connection, topic_id, name, items)
        time.sleep(0.05)
        sync._stored = lambda *_: known
        return super().begin_sync(topic_id, outbox, *args, **kwargs)


if __name__ == "__main__":
    raise SystemExit(server.main(Mutant))
