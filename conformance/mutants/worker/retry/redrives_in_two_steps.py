"""A dead letter leaves the list, and goes back to its agent in a transaction of its own. A kill between loses it."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.03",)
CHAOS = {"points": True, "only": "redrive"}


class RedrivesInTwoSteps(WorkerBus):
    """Two statements."""

    def redrive(self, agent_id: str, seq: int) -> dict[str, Any]:
        key = (agent_id, seq)
        if not self.db.write("DELETE FROM dead_letters WHERE agent_id = ? AND seq = ?", key).rowcount:
            return {"redriven": False}
        self.db.write("INSERT OR REPLACE INTO redriven (agent_id, seq) VALUES (?, ?)", key)
        return {"redriven": True}


if __name__ == "__main__":
    serve({"worker": RedrivesInTwoSteps})
