"""A process indexes what it sends, and finds nothing that another program has stored."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main
from refbus.topics.sync import SyncCall

KILLED_BY = ("topics.search.19",)


class Mutant(TopicsBus):
    def begin_sync(self, *args: Any, **more: Any) -> SyncCall:
        call = super().begin_sync(*args, **more)
        if call.reply["sent"] and self._has_fts():
            super()._index("fts", self._index_words)
        return call

    def _index(self, index_name: str, index_some: Any) -> None:
        pass


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
