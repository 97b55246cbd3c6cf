"""The same id with other content is reported as published and dropped (W3)."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.transaction import Transaction
from refbus.worker import log
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.11",)


def first_of_that_id(_self: log.Log, tx: Transaction, _agent_id: str, draft: Any) -> int:
    stored = log._stored(tx, draft.id)
    assert stored is not None
    return int(stored[0])


log.Log._seq_of_retry = first_of_that_id  # type: ignore[method-assign]

if __name__ == "__main__":
    serve({"worker": WorkerBus})
