"""A cursor's time is that of the first acknowledgement for ever."""

from refbus.driver import serve
from refbus.worker import cursor
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.cursor.08",)
ITEM = "corpus"


cursor._ADVANCE = cursor._ADVANCE.replace(
    "updated_at_ms = excluded.updated_at_ms", "updated_at_ms = cursors.updated_at_ms"
)


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
