"""A blob that the disk does not give is indexed as if it were empty: the message is never found by its words again."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import BusError
from refbus.worker.bus import WorkerBus
from refbus.worker.search import Search

KILLED_BY = ("worker.log.55",)
CHAOS = {"disk_full": True, "only": "search in a blob", "levels": (), "errors": ("EIO",)}

_words = Search.words


def words(self: Search, text: Any, ref: Any) -> str:
    try:
        return _words(self, text, ref)
    except BusError:
        return ""


Search.words = words  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"worker": WorkerBus})
