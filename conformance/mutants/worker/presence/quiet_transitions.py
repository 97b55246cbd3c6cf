"""A transition publishes nothing."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.presence.11",)


class Mutant(WorkerBus):
    def _announce(self, *_: Any) -> None:
        return None


if __name__ == "__main__":
    serve({"worker": Mutant})
