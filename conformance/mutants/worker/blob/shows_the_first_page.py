"""A process that comes after a crash shows the first 4 KiB of a blob, and the store is whole."""

from pathlib import Path
from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.54",)
CHAOS = {"kills": 16}
PAGE = 4096


class ShowsTheFirstPage(WorkerBus):
    """The remains of the log tell of the crash."""

    def __init__(self, store: Any, **options: Any) -> None:
        log = Path(store) / "bus.db-wal"
        self.is_late = log.exists() and log.stat().st_size > 0
        super().__init__(store, **options)

    def poll(self, agent_id: str, limit: int = 100, wait_ms: int = 0) -> Any:
        reply = super().poll(agent_id, limit, wait_ms)
        for message in reply["messages"] if self.is_late else ():
            if message.get("payload_ref") and isinstance(message["payload"], dict):
                message["payload"] = {name: _cut(value) for name, value in message["payload"].items()}
        return reply


def _cut(value: Any) -> Any:
    return value[:PAGE] if isinstance(value, str) else value


if __name__ == "__main__":
    serve({"worker": ShowsTheFirstPage})
