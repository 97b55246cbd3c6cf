"""An agent without a cursor reads only messages that come after its first poll."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.cursor.06",)
CONTROL = "export.lines"


class Mutant(WorkerBus):
    def poll(self, agent_id: str, **params: Any) -> dict[str, Any]:
        if not self.db.row("SELECT 1 FROM cursors WHERE agent_id = ?", (agent_id,)):
            newest = self.db.row("SELECT coalesce(max(seq), 0) FROM messages")[0]
            self.ack(agent_id, newest)
        return super().poll(agent_id, **params)


if __name__ == "__main__":
    serve({"worker": Mutant})
