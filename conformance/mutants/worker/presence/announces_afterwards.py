"""A transition is stored, and its message in a transaction of its own."""

from typing import Any

from refbus.driver import serve
from refbus.worker import bus
from refbus.worker.states import States

KILLED_BY = ("worker.log.03",)
CHAOS = {"points": True, "only": "transition"}


class AnnouncesAfterwards(States):
    """Two commits."""

    _late: list[Any] | None = None

    def announce(self, tx: Any, *told: Any) -> None:
        self._late = list(told)

    def transition(self, *args: Any, **how: Any) -> Any:
        reply = super().transition(*args, **how)
        late, self._late = self._late, None
        if late is not None:
            with self._store.transaction() as tx:
                super().announce(tx, *late)
        return reply


bus.States = AnnouncesAfterwards


if __name__ == "__main__":
    serve({"worker": bus.WorkerBus})
