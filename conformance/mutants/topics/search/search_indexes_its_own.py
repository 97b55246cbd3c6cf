"""A process indexes its own messages, and finds nothing that another program has stored."""

from typing import Any

from refbus.topics import bus
from refbus.topics.mcp.server import main
from refbus.topics.search import Search

KILLED_BY = ("topics.search.19",)


class Blind(Search):
    def index(self, *_: Any) -> None:
        pass


bus.Search = Blind


class Mutant(bus.TopicsBus):
    def begin_sync(self, *args: Any, **more: Any) -> Any:
        call = super().begin_sync(*args, **more)
        if call.reply["sent"] and self.search.has_fts():
            Search.index(self.search, "fts", self.search.index_words)
        return call


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
