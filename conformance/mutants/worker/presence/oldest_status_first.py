"""The status query gives the oldest first."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.presence.18",)


class Mutant(WorkerBus):
    def status(self, limit: int = 100) -> dict[str, Any]:
        return {"rows": super().status(1000)["rows"][::-1][:limit]}


if __name__ == "__main__":
    serve({"worker": Mutant})
