"""A poll that cannot read is answered with no messages."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import BusError
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.55",)
CHAOS = {"disk_full": True, "only": "poll", "levels": (), "errors": ("EIO",)}


class TakesForSilence(WorkerBus):
    """Nothing is also an answer."""

    def poll(self, *args: Any, **how: Any) -> Any:
        try:
            return super().poll(*args, **how)
        except BusError:
            return {"messages": []}


if __name__ == "__main__":
    serve({"worker": TakesForSilence})
