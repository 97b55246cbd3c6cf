"""A message under another agent's id is answered as published, and does not exist."""

from typing import Any

from refbus.driver import serve
from refbus.worker import log
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.11",)
ITEM = "corpus"


_seq_of_retry = log.Log._seq_of_retry


def forgiving(self: log.Log, tx: Any, agent_id: str, draft: Any) -> int:
    (sender,) = tx.row("SELECT from_agent FROM messages WHERE id = ?", (draft.id,)) or (agent_id,)
    return _seq_of_retry(self, tx, sender, draft)


log.Log._seq_of_retry = forgiving


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
