"""Following the whole log, archived messages included, as `tail -f` follows a file. No cursor moves."""

from __future__ import annotations

from collections.abc import Iterator

from refbus.kernel.rules import limit as limits
from refbus.kernel.wake import SLEEP_S_MAX
from refbus.worker.bus import WorkerBus
from refbus.worker.message import EVERYWHERE
from refbus.worker.replies import Message


class Tail:
    """A place in the log of one reader that is no agent."""

    def __init__(self, bus: WorkerBus, *, back: int = 10) -> None:
        self._bus = bus
        limits.integer("back", back)
        row = bus.db.row(_BACK, (back,))
        self._last_seq = 0 if row is None else row[0]

    def messages(self, *, follow: bool = True) -> Iterator[Message]:
        """The messages in the log from here on; with `follow`, for ever."""
        with self._bus.store.waiters.borrow() as waiter:
            while True:
                rows = self._bus.db.rows(_NEXT, {"last": self._last_seq})
                for message in self._bus.reader.messages(rows):
                    self._last_seq = message["seq"]
                    yield message
                if not rows:
                    if not follow:
                        return
                    waiter.wait(SLEEP_S_MAX)


_BACK = """
    SELECT seq FROM messages UNION ALL SELECT seq FROM archived_messages ORDER BY seq DESC LIMIT 1 OFFSET ?
"""

_NEXT = f"{EVERYWHERE.format('seq > :last')} ORDER BY seq LIMIT 1000"
