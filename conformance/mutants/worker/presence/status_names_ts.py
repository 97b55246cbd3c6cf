"""The status query's time column is ts (W13)."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.presence.19",)


class Mutant(WorkerBus):
    def status(self, limit: int = 100) -> dict[str, Any]:
        rows = super().status(limit)["rows"]
        return {"rows": [{("ts" if key == "ts_ms" else key): value for key, value in row.items()} for row in rows]}


if __name__ == "__main__":
    serve({"worker": Mutant})
