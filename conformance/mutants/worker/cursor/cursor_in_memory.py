"""The cursor lives in the process."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.cursor.15",)


class Mutant(WorkerBus):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.acked: dict[str, int] = {}

    def ack(self, agent_id: str, seq: int) -> dict[str, Any]:
        self.acked[agent_id] = max(seq, self.acked.get(agent_id, 0))
        return {"last_acked_seq": self.acked[agent_id]}

    def poll(self, agent_id: str, **params: Any) -> dict[str, Any]:
        done = self.acked.get(agent_id, 0)
        return {"messages": [row for row in super().poll(agent_id, **params)["messages"] if row["seq"] > done]}


if __name__ == "__main__":
    serve({"worker": Mutant})
