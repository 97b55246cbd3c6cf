"""A heartbeat may have any status."""

from refbus.driver import serve
from refbus.kernel.rules import presence
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.presence.24",)


class AnyText(tuple[str, ...]):
    def __contains__(self, value: object) -> bool:
        return True


presence.STATUSES = AnyText(presence.STATUSES)


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
