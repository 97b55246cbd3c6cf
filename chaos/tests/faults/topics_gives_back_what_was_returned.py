"""Planted fault: when its client closes the connection, the server gives back the last sync, answered or not."""

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main
from refbus.topics.sync import Sync, SyncCall


class GivesBackWhatWasReturned(TopicsBus):
    """Remembers the last call until the end."""

    _last: SyncCall | None = None

    def begin_sync(self, *args: object, **how: object) -> SyncCall:
        self._last = Sync.begin_sync(self, *args, **how)  # type: ignore[arg-type]
        return self._last

    def close(self) -> None:
        if self._last is not None:
            self._last.give_back()
        super().close()


if __name__ == "__main__":
    main(GivesBackWhatWasReturned)
