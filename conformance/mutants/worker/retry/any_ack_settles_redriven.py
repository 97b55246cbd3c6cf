"""An acknowledgement settles redriven messages that were never handed out again."""

from refbus.driver import serve
from refbus.worker import cursor
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.retry.10",)
ITEM = "corpus"


ack_and_settle = cursor.Cursors._ack_and_settle


def settle(self: cursor.Cursors, agent_id: str, seq: int) -> int:
    self._store.db.write("DELETE FROM redriven WHERE agent_id = ? AND seq <= ?", (agent_id, seq))
    return ack_and_settle(self, agent_id, seq)


cursor.Cursors._ack_and_settle = settle


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
