"""The worker's state is not told in a file."""

from __future__ import annotations

from typing import Any

from refbus.driver import serve
from refbus.worker import bus, states

KILLED_BY = ("worker.presence.17",)


class Faulty(states.States):
    def _mirror(self, *_: Any) -> None:
        return None


bus.States = Faulty


if __name__ == "__main__":
    serve({"worker": bus.WorkerBus})
