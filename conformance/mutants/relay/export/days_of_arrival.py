"""The archive's day is the one on which a message was found, though it was processed on the next."""

import datetime

from refbus.driver import serve
from refbus.kernel.msgfile import Stat
from refbus.relay.archive import Archive
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.export.03",)
ITEM = "corpus:over_midnight"

move, today = Archive.move, Archive._today


def moved(self: Archive, agent: str, name: str, stat: Stat) -> bool:
    path = f"agents/{agent}/outbox/{name}"
    found = self._store.db.row("SELECT discovered_at FROM messages WHERE file_path = ?", (path,))
    if found is not None:
        day = datetime.datetime.fromtimestamp(found[0] / 1000, datetime.UTC).date()
        Archive._today = lambda _self: day  # type: ignore[method-assign]
    try:
        return move(self, agent, name, stat)
    finally:
        Archive._today = today  # type: ignore[method-assign]


Archive.move = moved  # type: ignore[method-assign]

if __name__ == "__main__":
    serve({"relay": RelayBus})
