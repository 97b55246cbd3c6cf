"""A row that another program inserted is not delivered."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.28",)


class Mutant(WorkerBus):
    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        reply = super().publish(agent_id, message)
        self.db.write("CREATE TABLE IF NOT EXISTS ours (seq INTEGER PRIMARY KEY)")
        self.db.write("INSERT OR IGNORE INTO ours VALUES (?)", (reply["seq"],))
        return reply

    def poll(self, **params: Any) -> dict[str, Any]:
        ours = {seq for (seq,) in self.db.rows("SELECT seq FROM ours")}
        return {"messages": [row for row in super().poll(**params)["messages"] if row["seq"] in ours]}


if __name__ == "__main__":
    serve({"worker": Mutant})
