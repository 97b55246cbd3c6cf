"""A transition does not look at the present state."""

from refbus.driver import serve
from refbus.kernel.transaction import Transaction
from refbus.worker import states
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.presence.15",)


class Believed(str):
    """Any state that a caller names, except the one that it goes to."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __ne__(self, other: object) -> bool:
        return False


present_state = states.States._present_state


def as_believed(self: states.States, tx: Transaction, worker: str) -> str | None:
    state = present_state(self, tx, worker)
    return None if state is None else Believed(state)


states.States._present_state = as_believed  # type: ignore[method-assign]

if __name__ == "__main__":
    serve({"worker": WorkerBus})
