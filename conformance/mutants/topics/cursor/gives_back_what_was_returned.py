"""When its client closes the connection, the server gives back the last sync, answered or not."""

from refbus.topics.bus import TopicsBus
from refbus.topics.cursor import SyncCall
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.49",)
CHAOS = {"ways": ("disconnected",)}


class GivesBackWhatWasReturned(TopicsBus):
    """Remembers the last call until the end."""

    _last: SyncCall | None = None

    def begin_sync(self, *args: object, **how: object) -> SyncCall:
        self._last = super().begin_sync(*args, **how)  # type: ignore[arg-type]
        return self._last

    def close(self) -> None:
        if self._last is not None:
            self._last.give_back()
        super().close()


if __name__ == "__main__":
    main(GivesBackWhatWasReturned)
