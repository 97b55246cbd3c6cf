"""Archived messages are thrown away, ids and all."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.44",)


class Mutant(WorkerBus):
    def archive(self) -> dict[str, Any]:
        reply = super().archive()
        self.db.write("DELETE FROM archived_messages")
        return reply


if __name__ == "__main__":
    serve({"worker": Mutant})
