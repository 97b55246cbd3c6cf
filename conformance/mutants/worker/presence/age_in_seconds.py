"""age_ms holds seconds."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.presence.08", "worker.presence.23")


class Mutant(WorkerBus):
    def liveness(self) -> dict[str, Any]:
        return {"agents": [row | {"age_ms": row["age_ms"] // 1000} for row in super().liveness()["agents"]]}


if __name__ == "__main__":
    serve({"worker": Mutant})
