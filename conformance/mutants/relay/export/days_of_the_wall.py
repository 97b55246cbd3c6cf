"""The archive's day follows local time."""

import datetime

from refbus.driver import serve
from refbus.relay.archive import Archive
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.export.03",)
ITEM = "corpus:the_archive"

Archive._today = lambda self: datetime.datetime.fromtimestamp(self._store.clock.now_ms() / 1000).date()  # type: ignore[method-assign]

if __name__ == "__main__":
    serve({"relay": RelayBus})
